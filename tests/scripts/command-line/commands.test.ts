import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { TASKS } from '../../../scripts/tasks.mjs'

const ROOT = resolve(import.meta.dirname, '../../..')
const RUN = join(ROOT, 'scripts/run.mjs')
/** Commands that have no npm script. */
const BY_HAND = ['scripts/places.ts', 'bench/kafka-transport.ts']
const FILES = [...Object.values(TASKS).map(({ file }) => file), ...BY_HAND]
const NAMES = [...Object.keys(TASKS), ...BY_HAND]
const WRONG_OPTION = '--no-such-option'
/** Node's compile cache. Without the cache, compiling takes more than half of each process's CPU time. */
const { NODE_COMPILE_CACHE } = process.env

const empty = mkdtempSync(join(tmpdir(), 'millrace-help-'))
const home = join(empty, 'home')
afterAll(() => rmSync(empty, { recursive: true, force: true }))

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs Node as on a machine without other programs. Any attempt to install or start a program there would fail. */
function run(...args: string[]): Promise<Ended> {
  const env = { PATH: empty, MILLRACE_HOME: home, MILLRACE_DATA: join(empty, 'data'), NODE_COMPILE_CACHE }
  return new Promise((ended) => {
    const child = execFile(process.execPath, args, { env, cwd: ROOT }, (_error, stdout, stderr) =>
      ended({ code: child.exitCode, stdout, stderr }),
    )
  })
}

function declarationOf(file: string): string {
  return file.replace(/\.ts$/, '.command.ts')
}

test('without a command or with --help, all commands are listed with their descriptions', async () => {
  const [none, help] = await Promise.all([run(RUN), run(RUN, '--help')])
  expect(help).toMatchObject({ code: 0, stderr: '' })
  expect(none).toEqual({ code: 2, stdout: '', stderr: help.stdout })
  for (const [name, { does }] of Object.entries(TASKS)) expect(help.stdout).toMatch(new RegExp(`^  ${name} +${does}$`, 'm'))
})

test('every npm script runs a command with exec, so that signals to npm reach the command', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
  const called = Object.values(scripts).map((line) => /^exec node scripts\/run\.mjs (\S+)$/.exec(line)?.[1])
  expect(new Set(called)).toEqual(new Set(Object.keys(TASKS)))
})

describe.each(NAMES)('%s', (name) => {
  test('answers --help and a wrong option without any other action', async () => {
    const [help, wrong] = await Promise.all([run(RUN, name, '--help'), run(RUN, name, WRONG_OPTION)])
    expect(help).toMatchObject({ code: 0, stderr: '' })
    expect(help.stdout).toMatch(/^(npm|node) .*\[options\]\n\n[A-Z][\s\S]*\.\n\n[\s\S]*--help +Prints this text\.\n/)
    expect(wrong.code).toBe(2)
    expect(wrong.stdout).toBe('')
    expect(wrong.stderr).toMatch(/^millrace: unknown option --no-such-option.*(; see|\? See) (npm|node) .* --help\n$/)
    for (const { stdout, stderr } of [help, wrong]) expect(stdout + stderr).not.toContain('    at ')
    expect(existsSync(home)).toBe(false)
  })
})

describe.each(FILES)('%s', (file) => {
  test('the command line is parsed only through its declaration', () => {
    const source = readFileSync(join(ROOT, file), 'utf8')
    expect(source).toMatch(/commandLine\(declaration\)/)
    expect(source).not.toMatch(/parseArgs\(/)
  })

  test('has a declaration that needs no package, so that help works before any package is installed', () => {
    const loaded = new Set<string>()
    expect(packagesOf(join(ROOT, declarationOf(file)), loaded)).toEqual([])
    expect([...loaded]).toContain(join(ROOT, 'scripts/command-line/command.ts'))
  })
})

test('start --reset --help prints the help', async () => {
  const { code, stdout } = await run(RUN, 'start', '--reset', '--help')
  expect(code).toBe(0)
  expect(stdout).toContain('--reset')
})

test('a file that is run directly parses its own arguments', async () => {
  const [help, wrong] = await Promise.all([run('bench/stores.ts', '--help'), run('bench/stores.ts', 'x')])
  expect(help).toMatchObject({ code: 0, stderr: '' })
  expect(wrong).toEqual({
    code: 2,
    stdout: '',
    stderr: 'millrace: KEYS must be an integer of at least 1, not "x"; see npm run bench:stores -- --help\n',
  })
})

test('a benchmark without its public data says in one line what is missing and where to get it', async () => {
  const { code, stderr } = await run('bench/languages/run.ts')
  expect(code).toBe(1)
  expect(stderr).toMatch(/^millrace: .*languages.* is missing\. .*highlight\.js.* MILLRACE_DATA .*\n$/)
})

test('status ends quietly when the reader of its output closes the pipe', async () => {
  const child = spawn(process.execPath, [join(ROOT, 'deploy/local/status.ts')], {
    env: { MILLRACE_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  let stderr = ''
  child.stderr.on('data', (chunk) => (stderr += chunk))
  expect(await once(child, 'close')).toEqual([0, null])
  expect(stderr).toBe('')
})

/** Returns the packages imported by a file or by any file that it loads. */
function packagesOf(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file)) return []
  seen.add(file)
  const source = readFileSync(file, 'utf8')
  const imports = [...source.matchAll(/^(?:import|export) (?!type )(?:[\w*, ]*|[\w, ]*\{[^}]*\}) ?(?:from )?'([^']+)'/gm)].map(
    ([, name]) => name,
  )
  return imports.flatMap((name) => {
    if (name.startsWith('node:')) return []
    return name.startsWith('.') ? packagesOf(resolve(dirname(file), name), seen) : [name]
  })
}
