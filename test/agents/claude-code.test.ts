import { listens } from './listening.ts';

listens('claude-code');
