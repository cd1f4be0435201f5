/**
 * The entry point of every `npm run` command of this project. It makes sure that the packages, Node 24 or newer and the
 * system programs are installed, then runs the task's TypeScript file. It is plain JavaScript without dependencies,
 * because it runs before anything is installed, on any Node from version 18.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nearestName } from './command-line/nearest.mjs'
import { Failure } from './setup/commands.mjs'
import { ENV, HOME, ROOT } from './setup/config.mjs'
import { ensureNode } from './setup/node.mjs'
import { ensurePackages } from './setup/packages.mjs'
import { ensurePrograms } from './setup/programs.mjs'
import { TASKS } from './tasks.mjs'
import { sweepTrial, testDisk, trialFolder, whenOrphaned } from './trial.mjs'

/**
 * The only task whose files may be in memory. Benchmarks need a real disk, because they measure it, and a soak run
 * would fill the memory.
 */
const IN_MEMORY = 'test'
/** Tasks whose processes and folders are cleaned up even when the task is killed. */
const TRIAL = /^(test|bench:)/

/** Conventional exit code for a wrong command line. */
const USAGE_EXIT_CODE = 2
/** The minimum Node version that runs this project's TypeScript. */
const NODE_MAJOR = 24
const NODE_VERSION = Number(process.versions.node.split('.')[0])

async function main() {
  const [name, ...args] = process.argv.slice(2)
  if (name === undefined || name === '--help' || name === '-h') return print(overview(), name === undefined ? USAGE_EXIT_CODE : 0)
  const known = Object.hasOwn(TASKS, name)
  const task = known ? TASKS[name] : { file: name }
  if (!known && !/\.ts$/.test(name)) return print(`millrace: ${unknown(name)}\n`, USAGE_EXIT_CODE)
  if (!existsSync(join(ROOT, task.file))) throw new Failure(`file ${task.file} does not exist`)
  const declaration = join(ROOT, task.file.replace(/\.ts$/, '.command.ts'))
  if (NODE_VERSION >= NODE_MAJOR && (await isAnswered(declaration, args))) return
  const { node, npm } = await ensureNode()
  if (NODE_VERSION < NODE_MAJOR && isAnsweredBy(node, declaration, args)) return
  await ensurePackages(npm)
  const java = task.programs ? await ensurePrograms(task.programs) : undefined
  const path = [dirname(node), java && dirname(java), ENV.PATH].filter(Boolean).join(delimiter)
  await handOver(node, [join(ROOT, task.file), ...args], path, folderFor(name))
}

function print(text, exitCode) {
  const output = exitCode === 0 ? process.stdout : process.stderr
  // If the output is a pipe whose reader has ended, the write fails. Without this listener, the error would end this
  // process with a stack trace.
  output.on('error', () => {})
  output.write(text)
  process.exitCode = exitCode
}

function overview() {
  const width = Math.max(...Object.keys(TASKS).map((name) => name.length))
  const lines = Object.entries(TASKS).map(([name, { does }]) => `  ${name.padEnd(width)}  ${does}`)
  return `npm run COMMAND -- [options]\n\n${lines.join('\n')}\n\nnpm run COMMAND -- --help lists the options of a command.\n`
}

function unknown(name) {
  const nearest = nearestName(name, Object.keys(TASKS))
  const guess = nearest === undefined ? '.' : `, did you mean ${nearest}?`
  return `unknown command ${name}${guess} Commands: ${Object.keys(TASKS).join(', ')}`
}

/**
 * Handles `--help` and wrong options before anything is installed; the declarations of commands need no packages.
 * Returns true if the task must not run.
 */
async function isAnswered(declaration, args) {
  if (!existsSync(declaration)) return false
  const { answerOf } = await import('./command-line/check.ts')
  const { text, exitCode } = await answerOf(declaration, args)
  if (exitCode !== undefined) print(text, exitCode)
  return exitCode !== undefined
}

/** Handles `--help` and wrong options with a different Node, because this Node cannot load TypeScript. */
function isAnsweredBy(node, declaration, args) {
  if (!existsSync(declaration)) return false
  const answer = fileURLToPath(new URL('./command-line/answer.ts', import.meta.url))
  const { status, stdout, stderr } = spawnSync(node, [answer, declaration, ...args], { encoding: 'utf8' })
  const text = status === 0 ? stdout : stderr
  if (text !== '') print(text, status)
  return text !== ''
}

function folderFor(task) {
  if (!TRIAL.test(task)) return undefined
  return task === IN_MEMORY ? trialFolder(testDisk(ENV)) : trialFolder()
}

/**
 * Runs the task as a child process and forwards signals to it. When the task has ended, removes the processes and files
 * that a test or benchmark left behind, and sets the exit code of this process to that of the task. The task may
 * receive a signal twice, from the terminal and from this process.
 */
function handOver(node, args, path, folder) {
  const child = spawn(node, args, {
    stdio: 'inherit',
    env: { ...ENV, ...(folder && { TMPDIR: folder }), PATH: path, MILLRACE_HOME: HOME },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  if (folder) whenOrphaned(() => child.kill('SIGTERM'))
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
  // An error of a system call, such as EACCES or ENOSPC, names the file and is not a bug.
  const isPlain = error instanceof Failure || error.syscall !== undefined
  process.stderr.write(isPlain ? `millrace: ${error.message}\n` : `${error.stack}\n`)
  process.exitCode = 1
})
