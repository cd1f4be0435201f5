import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { Failure, logged, step } from './commands.mjs'
import { ENV, ROOT, SETUP_LOG, TOOLS } from './config.mjs'

const JAVA_MAJOR = 17

/**
 * Makes sure that the programs are installed. Missing programs are installed if the process runs as root and `apt-get`
 * exists.
 *   @returns the java executable to use; undefined if Java is not in `wanted` or not installed
 *   @throws Failure if programs are still missing that are neither optional nor replaced by settings; the message names
 *   them
 */
export async function ensurePrograms(wanted) {
  const names = wanted.filter((name) => !OPTIONAL.has(name))
  const missing = missingPrograms(names)
  if (missing.length > 0) await installPrograms(missing)
  const still = missingPrograms(names)
  if (still.length > 0) throw new Failure(cureFor(still))
  await tryOptional(wanted.filter((name) => OPTIONAL.has(name) && !PROGRAMS[name].present()))
  return names.includes('java') ? findJava() : undefined
}

/**
 * Programs that may be missing. If one of them cannot be installed, the setup prints a warning, and the task runs
 * without it.
 */
const OPTIONAL = new Set(['chromium'])

async function tryOptional(missing) {
  if (missing.length === 0) return
  await installPrograms(missing).catch(({ message }) =>
    process.stderr.write(`millrace: continuing without ${missing.join(', ')}: ${message}\n`),
  )
}

/** The settings that replace the local Java servers with external servers. */
const JAVA_SERVERS = ['KAFKA_BROKERS', 'OPENSEARCH_URL']

const PROGRAMS = {
  java: {
    what: `a Java runtime, ${JAVA_MAJOR} or newer (for Kafka and the search server)`,
    given: JAVA_SERVERS,
    present: () => findJava() !== undefined,
  },
  maven: {
    what: 'Maven (to fetch Kafka and the search server)',
    given: JAVA_SERVERS,
    present: () => hasJars() || which('mvn') !== undefined,
  },
  redis: { what: 'redis-server', given: ['REDIS_URL'], present: () => which('redis-server') !== undefined },
  chromium: { what: 'Chromium (for the browser tests)', given: undefined, present: () => which('chromium') !== undefined },
  wrk: { what: 'wrk (to generate load on HTTP servers)', given: undefined, present: () => which('wrk') !== undefined },
  python: { what: 'Python 3 with venv (for clients in the tests and for training models)', given: undefined, present: hasPython },
}
const APT_PACKAGES = {
  java: javaPackage,
  maven: () => 'maven',
  redis: () => 'redis-server',
  python: () => 'python3-venv',
  chromium: () => 'chromium',
  wrk: () => 'wrk',
}

function missingPrograms(names) {
  return names.filter((name) => {
    const { given, present } = PROGRAMS[name]
    // A task that needs Python and these servers is a test. Tests ignore settings for external servers, because they
    // always start their own servers.
    const isGiven = given && !names.includes('python') && given.every((setting) => ENV[setting])
    return !isGiven && !present()
  })
}

async function installPrograms(missing) {
  if (process.getuid?.() !== 0 || !which('apt-get')) throw new Failure(cureFor(missing))
  await step(`system packages: ${missing.join(', ')}`, async () => {
    const env = { DEBIAN_FRONTEND: 'noninteractive' }
    const fail = (failure) => {
      const output = (failure.output ?? failure.message).trim().split('\n')
      const reason = output.reverse().find((line) => line.startsWith('E:')) ?? output[0]
      throw new Failure(`system packages could not be installed: ${reason}. Check the network and try again; details are in ${SETUP_LOG}`)
    }
    await logged('apt-get', ['update'], ROOT, env).catch(fail)
    const packages = missing.map((name) => APT_PACKAGES[name]())
    await logged('apt-get', ['install', '-y', '--no-install-recommends', ...packages], ROOT, env).catch(fail)
    // Debian starts a newly installed Redis immediately and at every boot, on the same port as the local Redis.
    if (missing.includes('redis') && existsSync('/run/systemd/system')) {
      spawnSync('systemctl', ['disable', '--now', 'redis-server'], { stdio: 'ignore' })
    }
  })
}

function cureFor(missing) {
  const packages = missing.map((name) => APT_PACKAGES[name]())
  const needed = missing.map((name) => PROGRAMS[name].what).join(', ')
  return `missing on this machine: ${needed}. As root: apt-get update && apt-get install -y --no-install-recommends ${packages.join(' ')}`
}

/**
 * Returns the package of the newest known Java runtime that this Debian release offers. If the release offers none,
 * returns the package of the oldest known one.
 */
export function javaPackage() {
  const known = ['openjdk-25-jre-headless', 'openjdk-21-jre-headless', 'openjdk-17-jre-headless']
  // The pattern below matches only untranslated output.
  const env = { ...ENV, LC_ALL: 'C' }
  const isOffered = (name) => /Candidate: [^(]/.test(spawnSync('apt-cache', ['policy', name], { encoding: 'utf8', env }).stdout ?? '')
  return known.find(isOffered) ?? known[known.length - 1]
}

function findJava() {
  const homes = existsSync('/usr/lib/jvm') ? readdirSync('/usr/lib/jvm').map((name) => join('/usr/lib/jvm', name, 'bin', 'java')) : []
  const candidates = [ENV.JAVA_HOME && join(ENV.JAVA_HOME, 'bin', 'java'), which('java'), ...homes]
  return candidates.filter(Boolean).find((java) => javaMajor(java) >= JAVA_MAJOR)
}

function javaMajor(java) {
  // Java prints its version to standard error: `openjdk version "17.0.15" ...`.
  const { stderr } = spawnSync(java, ['-version'], { encoding: 'utf8' })
  return Number(/version "(\d+)/.exec(stderr ?? '')?.[1] ?? 0)
}

/** Returns true if the jars of both Java servers have been downloaded, so that Maven is not needed. */
function hasJars() {
  const fetched = existsSync(TOOLS) ? readdirSync(TOOLS) : []
  return [/^kafka-[0-9a-f]+$/, /^search-[0-9a-f]+$/].every((folder) => fetched.some((name) => folder.test(name)))
}

function hasPython() {
  return spawnSync('python3', ['-c', 'import venv, ensurepip']).status === 0
}

function which(program) {
  return (ENV.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}
