#!/usr/bin/env node
// Settings and schedules that earlier versions wrote name this file.
import '../doors/cli/nocturne.js';
