import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, step } from './commands.mjs'
import { TOOLS } from './config.mjs'
import { runNpm, startingNpm } from './npm.mjs'

const NODE_MAJOR = 24
const NPM_MAJOR = 11

/**
 * Finds Node 24 and an npm that runs on it. If this machine's Node is older, both are installed from the registry.
 * @returns the executable of Node, and the command and first arguments of npm
 */
export async function ensureNode() {
  if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR) return { node: process.execPath, npm: startingNpm() }
  // This package contains the binary. The `node` package would download it in an install script.
  const binary = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const folder = join(TOOLS, `node-${NODE_MAJOR}`)
  const node = join(folder, 'node_modules', binary, 'bin', 'node')
  const cli = join(folder, 'node_modules', 'npm', 'bin', 'npm-cli.js')
  const toolchain = { node, npm: [node, cli] }
  if (existsSync(cli) && isRunnable(node)) return toolchain
  await step(`Node ${NODE_MAJOR} (this machine has ${process.versions.node})`, async () => {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{"private":true}')
    const packages = [`${binary}@^${NODE_MAJOR}`, `npm@^${NPM_MAJOR}`]
    await runNpm(startingNpm(), ['install', '--no-save', '--ignore-scripts', ...packages], folder)
    if (!isRunnable(node)) throw new Failure(`the downloaded ${node} does not run; install Node ${NODE_MAJOR} manually`)
  })
  return toolchain
}

function isRunnable(executable) {
  return existsSync(executable) && spawnSync(executable, ['--version']).status === 0
}
