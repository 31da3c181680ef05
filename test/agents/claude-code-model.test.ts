import { answers } from './answering.ts';

answers('claude-code');
