import { listens } from './listening.ts';

listens('codex');
