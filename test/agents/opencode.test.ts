import { listens } from './listening.ts';

listens('opencode');
