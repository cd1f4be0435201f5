import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { inheritedEnv } from '../deploy/local/config.ts'
import { waitUntil } from '../deploy/local/wait.ts'
import { commandLine, runMain } from '../scripts/command-line/main.ts'
import { ownStack } from './harness/folder.ts'
import { cpuSeconds, describeMachine } from './harness/process-stats.ts'
import declaration from './idle.command.ts'

const FIXTURES = new URL('./idle-fixtures.ts', import.meta.url)
const RUN = fileURLToPath(new URL('../scripts/run.mjs', import.meta.url))
const START_TIMEOUT_MS = 5 * 60_000
const MS_PER_SECOND = 1_000
const KIB_PER_MIB = 1024
const PERCENT = 100
const PARENT_FIELD = 1
const WIDTH = { name: 14, number: 12 }

interface Use {
  readonly name: string
  readonly pid: number
  readonly cpuSeconds: number
}

/** Returns the pids of the `npm start` process and of all its descendants. */
function processesOf(root: number): number[] {
  const parents = new Map<number, number>()
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const stat = read(`/proc/${entry}/stat`)
    parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[PARENT_FIELD]))
  }
  const descends = (pid: number): boolean => pid === root || (pid > 1 && parents.has(pid) && descends(parents.get(pid)!))
  return [...parents.keys()].filter(descends).sort((a, b) => a - b)
}

function snapshot(root: number): Use[] {
  return processesOf(root).map((pid) => ({ name: nameOf(pid), pid, cpuSeconds: cpuSeconds(pid) }))
}

/** Returns a short name for a process, taken from the last argument that names a program. */
function nameOf(pid: number): string {
  const args = read(`/proc/${pid}/cmdline`).split('\0').filter(Boolean)
  const program = args.findLast((arg) => /\.(ts|mjs)$|^kafka\.Kafka$/.test(arg)) ?? args[0] ?? '?'
  const parts = program.split('/')
  return basename(program) === 'main.ts' ? (parts.at(-2) ?? program) : basename(program).split(' ')[0]
}

function residentMib(pid: number): number {
  return Math.round(Number(/^VmRSS:\s*(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / KIB_PER_MIB)
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/**
 * Returns the environment variables that add fixtures.
 * @param fixtures numbers of topologies and sinks, such as 15x25
 */
function fixtureEnv(fixtures: string): Record<string, string> {
  if (fixtures === '0x0') return {}
  const [topologies, sinks] = fixtures.split('x')
  const preload = new URL(`?topologies=${topologies}&sinks=${sinks}`, FIXTURES)
  return { NODE_OPTIONS: `--import ${preload.href}` }
}

async function main(): Promise<void> {
  const { settle, seconds, fixtures } = commandLine(declaration)
  const folder = mkdtempSync(join(tmpdir(), 'millrace-idle-'))
  const stack = spawn(process.execPath, [RUN, 'start'], {
    env: { ...inheritedEnv(), ...(await ownStack(join(folder, 'home'))), ...fixtureEnv(fixtures), MILLRACE_DEMO: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  stack.stdout.on('data', (chunk) => {
    output += chunk
  })
  try {
    await waitUntil(() => output.includes('Ctrl-C stops everything'), {
      what: 'the stack',
      timeoutMs: START_TIMEOUT_MS,
      givenUp: () => (stack.exitCode === null ? undefined : output),
    })
    await delay(settle * MS_PER_SECOND)
    const before = snapshot(stack.pid!)
    await delay(seconds * MS_PER_SECOND)
    const after = snapshot(stack.pid!)
    process.stdout.write(table(before, after, seconds))
  } finally {
    stack.kill('SIGTERM')
    if (stack.exitCode === null) await once(stack, 'exit')
    rmSync(folder, { recursive: true, force: true })
  }
}

function table(before: readonly Use[], after: readonly Use[], seconds: number): string {
  const lines = after.map(({ name, pid, cpuSeconds: now }) => {
    const then = before.find((use) => use.pid === pid)?.cpuSeconds ?? 0
    return { name, percent: ((now - then) / seconds) * PERCENT, mib: residentMib(pid) }
  })
  const total = {
    name: 'total',
    percent: lines.reduce((sum, { percent }) => sum + percent, 0),
    mib: lines.reduce((sum, { mib }) => sum + mib, 0),
  }
  const header = `${'process'.padEnd(WIDTH.name)}${'% of a core'.padStart(WIDTH.number)}${'MiB resident'.padStart(WIDTH.number + 2)}`
  const rows = [...lines, total].map(
    ({ name, percent, mib }) =>
      `${name.padEnd(WIDTH.name)}${percent.toFixed(2).padStart(WIDTH.number)}${String(mib).padStart(WIDTH.number + 2)}`,
  )
  return `The idle stack was observed for ${seconds} s. ${describeMachine()}\n${[header, ...rows].join('\n')}\n`
}

await runMain(main)
