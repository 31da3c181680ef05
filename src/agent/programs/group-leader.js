// Stands between a worker and a program: the leader of a group of processes, in which the program and all that it starts
// run. It holds a pipe to the worker; when that closes, however the worker ended, it ends the group, itself included.

import { spawn } from 'node:child_process';
import { Socket } from 'node:net';

const [program, ...args] = process.argv.slice(2);
const endGroup = () => process.kill(-process.pid, 'SIGKILL');

const worker = new Socket({ fd: 3 })
  .on('data', () => {})
  .on('error', endGroup)
  .on('close', endGroup);
// What a service manager tells all of its processes is the worker's to decide.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
const child = spawn(program, args, { stdio: 'inherit' });
child.on('error', (error) => worker.write(JSON.stringify({ code: null, error: error.message }), endGroup));
// Told before the group ends: what the program left running ends with it.
child.on('exit', (code) => worker.write(JSON.stringify({ code }), endGroup));
