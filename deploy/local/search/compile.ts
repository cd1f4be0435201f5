import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { javaEnvironment } from '../java/environment.ts'
import { partialPath, removeAbandoned } from '../java/partial-folders.ts'

const run = promisify(execFile)

const SOURCES = ['BrowserGuardPlugin.java', 'SearchNode.java'].map((name) => fileURLToPath(new URL(`./${name}`, import.meta.url)))
/** The oldest supported version of Java. Later versions also run classes that were compiled for this version. */
const JAVA_RELEASE = '17'
const COMPILER = 'jdk.compiler/com.sun.tools.javac.Main'
const ARCHIVER = 'jdk.jartool/sun.tools.jar.Main'
const COMPILE_TIMEOUT_MS = 120_000
const JAR = 'node.jar'
const HASH_CHARACTERS = 12

/**
 * Returns the path of the jar with two classes: the class that starts the server, and the plugin that refuses requests
 * from web pages. Compiles both unless a jar for their current sources exists. No JDK is necessary, because Debian's
 * `jre-headless` packages also contain the compiler's module. The jar is in a separate folder, together with the class
 * archive.
 * @param jars folder of the server's jars
 */
export async function ensureNodeJar(jars: string): Promise<string> {
  const target = join(jars, `node-${await sourceHash()}`, JAR)
  if (existsSync(target)) return target
  await removeAbandoned(dirname(target))
  const folder = await mkdtemp(partialPath(dirname(target)))
  try {
    const classes = join(folder, 'classes')
    await mkdir(classes)
    const classPath = (await readdir(jars)).filter((file) => file.endsWith('.jar')).map((file) => join(jars, file))
    await java(COMPILER, '--release', JAVA_RELEASE, '-proc:none', '-cp', classPath.join(':'), '-d', classes, ...SOURCES)
    await java(ARCHIVER, '--create', '--file', join(folder, JAR), '-C', classes, '.')
    await rm(classes, { recursive: true })
    await rename(folder, dirname(target)).catch((error) => {
      // Another run may have compiled the jar first. In that case, its jar is used.
      if (!existsSync(target)) throw error
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return target
}

async function sourceHash(): Promise<string> {
  const hash = createHash('sha256').update(JAVA_RELEASE)
  for (const source of SOURCES) hash.update(basename(source)).update(await readFile(source))
  return hash.digest('hex').slice(0, HASH_CHARACTERS)
}

async function java(module: string, ...args: readonly string[]): Promise<void> {
  try {
    await run('java', ['-XX:TieredStopAtLevel=1', '-m', module, ...args], { timeout: COMPILE_TIMEOUT_MS, env: javaEnvironment() })
  } catch (error) {
    const { message, stdout = '', stderr = '' } = error as Error & { stdout?: string; stderr?: string }
    if (/Module jdk\.\w+ not found/.test(stdout + stderr)) {
      throw new Error(
        'this Java runtime has no compiler, which the search server needs: apt-get install openjdk-17-jre-headless, or use a JDK',
      )
    }
    throw new Error(`the search server's main class and plugin could not be compiled: ${(stderr || stdout || message).trim()}`)
  }
}
