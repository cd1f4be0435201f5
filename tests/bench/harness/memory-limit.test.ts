import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { memoryLimit } from '../../../bench/harness/memory-limit.ts'

let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'millrace-cgroups-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const MIB_64 = String(64 * 1024 * 1024)

test('control groups of version 1 get a limit, and the program starts in the group', () => {
  mkdirSync(join(root, 'memory'))
  writeFileSync(join(root, 'memory', 'memory.limit_in_bytes'), '')
  const [command, args] = memoryLimit(64, 'some', root).wrap('echo', ['a b', '$HOME'])
  const group = join(root, 'memory', 'some')
  expect(readFileSync(join(group, 'memory.limit_in_bytes'), 'utf8')).toBe(MIB_64)
  expect(execFileSync(command, args, { encoding: 'utf8' })).toBe('a b $HOME\n')
  expect(readFileSync(join(group, 'cgroup.procs'), 'utf8')).toMatch(/^\d+\n$/)
})

test('control groups of version 2 get the memory controller and a limit', () => {
  writeFileSync(join(root, 'cgroup.controllers'), 'cpu memory pids\n')
  memoryLimit(64, 'some', root)
  expect(readFileSync(join(root, 'cgroup.subtree_control'), 'utf8')).toBe('+memory')
  expect(readFileSync(join(root, 'some', 'memory.max'), 'utf8')).toBe(MIB_64)
})

test('a machine without a memory controller is reported', () => {
  expect(() => memoryLimit(64, 'some', root)).toThrow(/has no memory controller/)
  writeFileSync(join(root, 'cgroup.controllers'), 'cpu pids\n')
  expect(() => memoryLimit(64, 'some', root)).toThrow(/has no memory controller/)
})
