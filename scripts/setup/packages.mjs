import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, step } from './commands.mjs'
import { ROOT } from './config.mjs'
import { runNpm } from './npm.mjs'

/** Packages 1.2 GB, broker 45 MB, and room for data. */
const FREE_BYTES_FOR_SETUP = 3e9

/**
 * Installs what the lockfile says when it has changed since the last one; the stamp lies in node_modules and disappears with it.
 * @param npm command and first arguments of npm, on Node 24: on an older Node it leaves out binaries that want a newer one
 */
export async function ensurePackages(npm) {
  const lock = readFileSync(join(ROOT, 'package-lock.json'))
  const hash = createHash('sha256').update(lock).update(`${process.platform}-${process.arch}`).digest('hex')
  const stamp = join(ROOT, 'node_modules', '.millrace-lock')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return
  if (!isInstalled(JSON.parse(lock.toString()))) {
    await step('npm packages', async () => {
      requireSpace()
      // No package needs its install script: native ones bring their binaries. `npm ci` would refuse a lockfile without the
      // binaries of every other platform, which a registry mirror need not have; this installs exactly what is locked, too.
      await runNpm(npm, ['install', '--no-save', '--ignore-scripts'], ROOT)
    })
  }
  writeFileSync(stamp, hash)
}

/** True when everything that the lockfile asks for is there already, whoever installed it. */
function isInstalled(lock) {
  const hidden = join(ROOT, 'node_modules', '.package-lock.json')
  if (!existsSync(hidden)) return false
  const present = JSON.parse(readFileSync(hidden, 'utf8')).packages
  return Object.entries(lock.packages).every(
    ([path, wanted]) => path === '' || !isNeeded(wanted) || present[path]?.version === wanted.version,
  )
}

/** An optional package is needed where it is the binary for this machine. */
function isNeeded({ optional, devOptional, peer, os, cpu, libc }) {
  if (!optional) return !devOptional && !peer
  const isHere = os?.includes(process.platform) && cpu?.includes(process.arch)
  const isGlibc = process.platform === 'linux' && process.report.getReport().header.glibcVersionRuntime !== undefined
  return Boolean(isHere) && (libc === undefined || libc.includes(isGlibc ? 'glibc' : 'musl'))
}

function requireSpace() {
  if (!statfsSync) return
  const { bavail, bsize } = statfsSync(ROOT)
  if (bavail * bsize < FREE_BYTES_FOR_SETUP) {
    const free = ((bavail * bsize) / 1e9).toFixed(1)
    throw new Failure(
      `only ${free} GB are free in ${ROOT}; setting up takes ${FREE_BYTES_FOR_SETUP / 1e9} GB. Free some space and start again`,
    )
  }
}
