import { listens } from './listening.ts';

listens('gemini');
