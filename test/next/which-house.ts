// Which house a test is run on (vitest.config.ts), and on which engine.

export const nextEngine = process.env.NOCTURNE_TEST_NEXT as 'sqlite' | 'postgres' | undefined;
export const isNext = nextEngine !== undefined;
