#!/usr/bin/env node
// Settings that earlier versions wrote name this file.
import '../../doors/hook/hook.ts';
