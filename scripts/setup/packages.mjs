import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, step } from './commands.mjs'
import { ROOT } from './config.mjs'
import { runNpm } from './npm.mjs'

/** Free disk space that the setup needs, in bytes: 1.2 GB for packages, and the rest for servers and data. */
const FREE_BYTES_FOR_SETUP = 3e9

/**
 * Installs the packages of the lockfile unless they are installed. A stamp in node_modules contains a hash of the
 * lockfile and the platform for which the packages were last found complete.
 * @param npm command and first arguments of an npm that runs on Node 24; on an older Node, npm omits binaries that
 * require a newer Node
 */
export async function ensurePackages(npm) {
  const lock = readFileSync(join(ROOT, 'package-lock.json'))
  const hash = createHash('sha256').update(lock).update(`${process.platform}-${process.arch}`).digest('hex')
  const stamp = join(ROOT, 'node_modules', '.millrace-lock')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return
  if (!isInstalled(JSON.parse(lock.toString()))) {
    await step('npm packages', async () => {
      requireSpace()
      // Install scripts are skipped, because native packages include their binaries. `npm ci` is not used, because it
      // rejects a lockfile that lacks the binaries of other platforms. A lockfile lacks them if it was written with a
      // registry mirror that does not have them. `npm install` with these options also installs exactly the locked
      // versions.
      await runNpm(npm, ['install', '--no-save', '--ignore-scripts'], ROOT)
    })
  }
  try {
    writeFileSync(stamp, hash)
  } catch {
    // The stamp only saves time. Another user may have installed the packages in a folder that this user can only read.
  }
}

/** Returns true when all packages of the lockfile that this machine needs are installed. */
function isInstalled(lock) {
  const hidden = join(ROOT, 'node_modules', '.package-lock.json')
  if (!existsSync(hidden)) return false
  const present = JSON.parse(readFileSync(hidden, 'utf8')).packages
  return Object.entries(lock.packages).every(
    ([path, wanted]) => path === '' || !isNeeded(wanted) || present[path]?.version === wanted.version,
  )
}

/**
 * Returns true for packages that this machine needs. An optional package is needed if it is the binary for this
 * machine.
 */
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
      `only ${free} GB are free in ${ROOT}; the setup needs ${FREE_BYTES_FOR_SETUP / 1e9} GB. Free some space and try again`,
    )
  }
}
