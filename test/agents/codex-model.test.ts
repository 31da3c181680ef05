import { answers } from './answering.ts';

answers('codex');
