import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { javaEnvironment } from './environment.ts'
import { partialPath, removeAbandoned } from './partial-folders.ts'

const run = promisify(execFile)

/** The jars of one server. */
export interface JarSet {
  /** Name of the folder with the jars, without the hash at its end. */
  readonly name: string
  /** Name of the server, for messages. */
  readonly what: string
  /** File with the dependencies, for Maven. */
  readonly pom: string
  /** File with the hash of every jar, in the format of sha256sum. Changed dependencies require new hashes. */
  readonly pins: string
}

const MANIFEST = 'manifest.json'
/**
 * Time limit of the download. The jars of one server are smaller than 50 MB in total. Downloading them takes seconds
 * from a nearby mirror, and minutes over a slow connection.
 */
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000
const MAVEN_OUTPUT_BYTES = 16 * 1024 * 1024
const HASH_CHARACTERS = 12

interface JarEntry {
  readonly file: string
  readonly bytes: number
  readonly sha256: string
}

/**
 * Returns the folder of a server's jars. Downloads all jars from Maven Central if one is missing or has the wrong size.
 */
export async function ensureJars(set: JarSet, toolsDir: string): Promise<string> {
  const pom = await readFile(set.pom)
  const target = join(toolsDir, `${set.name}-${createHash('sha256').update(pom).digest('hex').slice(0, HASH_CHARACTERS)}`)
  if (await isIntact(target)) return target
  await rm(target, { recursive: true, force: true })
  await removeAbandoned(target)
  const partial = partialPath(target) + process.pid
  try {
    await download(set, partial)
    const jars = await inventory(partial)
    assertPinned(set, jars, await readFile(set.pins, 'utf8'))
    await writeFile(join(partial, MANIFEST), JSON.stringify(jars))
    await rename(partial, target).catch(async (error) => {
      // Another run may have completed the folder first. If the folder is intact, it is used.
      if (!(await isIntact(target))) throw error
    })
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
  return target
}

/**
 * Downloads jars with Maven. With strict checksums (-C), Maven fails on a damaged download instead of printing a
 * warning.
 */
async function download({ what, pom }: JarSet, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  try {
    await run(
      'mvn',
      ['-q', '-B', '-ntp', '-C', '-Dstyle.color=never', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${folder}`],
      { timeout: DOWNLOAD_TIMEOUT_MS, maxBuffer: MAVEN_OUTPUT_BYTES, env: javaEnvironment() },
    )
  } catch (error) {
    const failure = error as Error & { code?: string; stdout?: string }
    if (failure.code === 'ENOENT') throw new Error(`Maven is missing (it fetches ${what}): apt-get install maven`)
    const reason = /\[ERROR\] (.*)/.exec(failure.stdout ?? '')?.[1] ?? failure.message
    throw new Error(`${what} could not be downloaded from Maven Central: ${reason}. Check the network and start again`)
  }
}

/**
 * Checks the jars against the pinned hashes. Maven's own checksums come from the same server as the jars, so they
 * detect damage but not forgery.
 */
function assertPinned({ what }: JarSet, jars: readonly JarEntry[], pins: string): void {
  const expected = new Map(
    pins
      .trim()
      .split('\n')
      .map((line) => line.split(/\s+/) as [string, string])
      .map(([hash, file]) => [file, hash]),
  )
  const wrong = jars.find(({ file, sha256 }) => expected.get(file) !== sha256)?.file
  const absent = [...expected.keys()].find((name) => !jars.some(({ file }) => file === name))
  if (wrong === undefined && absent === undefined) return
  const fault = wrong === undefined ? `${absent} is missing` : `${wrong} does not have the hash in jars.sha256`
  throw new Error(`${what} was not downloaded as expected: ${fault}. Use a mirror that you trust and start again`)
}

async function inventory(folder: string): Promise<JarEntry[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.jar')).sort()
  return Promise.all(
    files.map(async (file) => {
      const content = await readFile(join(folder, file))
      return { file, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') }
    }),
  )
}

/**
 * Returns whether the jars have the sizes in the manifest. Hashing every jar at every start would take too long, and
 * would seldom find a damaged file. If a file seems to be damaged, compare its hash with the hash in the manifest.
 */
async function isIntact(folder: string): Promise<boolean> {
  const manifest = join(folder, MANIFEST)
  if (!existsSync(manifest)) return false
  try {
    const jars = JSON.parse(await readFile(manifest, 'utf8')) as JarEntry[]
    const sizes = await Promise.all(jars.map(async (jar) => (await stat(join(folder, jar.file))).size === jar.bytes))
    return jars.length > 0 && sizes.every(Boolean)
  } catch {
    return false
  }
}
