/**
 * What every `npm run` of this project goes through: sees to it that packages, Node 24 and the system's programs are there,
 * then runs the TypeScript file of the asked task with Node 24. Plain JavaScript without dependencies, because it runs before
 * anything is installed, on any Node from 18 up. Second runs take milliseconds.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { Failure } from './setup/commands.mjs'
import { ENV, HOME, ROOT } from './setup/config.mjs'
import { ensureNode } from './setup/node.mjs'
import { ensurePackages } from './setup/packages.mjs'
import { ensurePrograms } from './setup/programs.mjs'
import { sweepTrial, trialFolder, whenOrphaned } from './trial.mjs'

/** Task → its file, and the programs that are asked for beside Node. */
const STACK = ['java', 'maven', 'redis']
const TESTS = [...STACK, 'python', 'chromium']
const TASKS = {
  start: { file: 'deploy/local/start.ts', programs: STACK },
  status: { file: 'deploy/local/status.ts' },
  test: { file: 'scripts/verify.ts', programs: TESTS },
  'test:chaos': { file: 'tests/chaos/run.ts', programs: TESTS },
  'test:soak': { file: 'tests/chaos/soak.ts', programs: STACK },
  demo: { file: 'tools/demo/main.ts' },
  replay: { file: 'tools/replay/main.ts' },
  topics: { file: 'deploy/local/topics.ts' },
  dlq: { file: 'pipelines/engine/dlq/main.ts' },
  token: { file: 'api/kit/auth/token.ts' },
  'bench:engine': { file: 'bench/engine/run.ts', programs: STACK },
  'bench:stores': { file: 'bench/stores.ts' },
  'bench:trends-read': { file: 'bench/trends-read/run.ts', programs: [...STACK, 'wrk'] },
  'bench:trends': { file: 'bench/trends/run.ts', programs: STACK },
  'bench:limits': { file: 'bench/limits/run.ts', programs: STACK },
  'bench:restart': { file: 'bench/restart/run.ts', programs: STACK },
  'bench:clicks': { file: 'bench/clicks/run.ts', programs: STACK },
  'bench:links': { file: 'bench/links/run.ts', programs: STACK },
  'bench:idle': { file: 'bench/idle.ts', programs: STACK },
  'bench:snippets': { file: 'bench/snippets/run.ts', programs: STACK },
  'bench:languages': { file: 'bench/languages/run.ts' },
  schemas: { file: 'scripts/schema-types.ts' },
}

/** Tasks that leave nothing behind, whatever ends them. */
const TRIAL = /^(test|bench:)/

async function main() {
  const [name, ...args] = process.argv.slice(2)
  const task = TASKS[name] ?? { file: name }
  if (!name || !existsSync(join(ROOT, task.file))) throw new Failure(`no task ${name}; known are ${Object.keys(TASKS).join(', ')}`)
  const { node, npm } = await ensureNode()
  await ensurePackages(npm)
  const java = task.programs ? await ensurePrograms(task.programs) : undefined
  const path = [dirname(node), java && dirname(java), ENV.PATH].filter(Boolean).join(delimiter)
  await handOver(node, [join(ROOT, task.file), ...args], path, TRIAL.test(name))
}

/** Runs the task in our place: its signals, its exit code. A task may get a signal twice (from the terminal, and from here). */
function handOver(node, args, path, isTrial) {
  const folder = isTrial ? trialFolder() : undefined
  const child = spawn(node, args, {
    stdio: 'inherit',
    env: { ...ENV, ...(folder && { TMPDIR: folder }), PATH: path, MILLRACE_HOME: HOME },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  if (isTrial) whenOrphaned(() => child.kill('SIGTERM'))
  return new Promise((done, fail) => {
    child.on('error', (error) => fail(new Failure(`${node} cannot be started: ${error.message}`)))
    child.on('exit', (code) => {
      if (folder) sweepTrial(folder)
      process.exitCode = code ?? 1
      done()
    })
  })
}

main().catch((error) => {
  process.stderr.write(error instanceof Failure ? `millrace: ${error.message}\n` : `${error.stack}\n`)
  process.exitCode = 1
})
