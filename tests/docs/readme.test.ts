import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { guardedFolder } from '../stack/folder.ts'

const ROOT = join(import.meta.dirname, '../..')
const COMPILER = join(ROOT, 'node_modules/typescript/bin/tsc')
/**
 * Time limit of the test. The test has to compile all files that the samples import, and on a busy machine this takes
 * many seconds.
 */
const COMPILE_TIMEOUT_MS = 120_000
const BROKEN = "import { drop } from './pipelines/engine/index.ts'\n\ndrop(missing)\n"

const folder = guardedFolder()

/** Returns the TypeScript samples of a page that import files of the checkout. */
function samplesOf(page: string): string[] {
  const blocks = [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1])
  return blocks.filter((block) => /from '\.\//.test(block))
}

/**
 * Compiles texts as if they were files in the root of the checkout.
 * @returns the compiler's messages, each with the name of its file
 */
async function faultsOf(files: Readonly<Record<string, string>>): Promise<string[]> {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, name), text)
  symlinkSync(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'))
  writeFileSync(join(folder.path, 'package.json'), JSON.stringify({ type: 'module' }))
  // Imports that begin with ./ resolve to files of the checkout, too.
  const compilerOptions = { rootDirs: [ROOT, folder.path] }
  const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: [], files: Object.keys(files) }
  writeFileSync(join(folder.path, 'tsconfig.json'), JSON.stringify(config))
  // With several threads, the compiler would check some types more than once.
  const args = [COMPILER, '--singleThreaded', '--pretty', 'false', '-p', folder.path]
  const run = promisify(execFile)(process.execPath, args, { cwd: folder.path })
  const { stdout } = await run.catch((failed: { stdout: string }) => failed)
  return stdout.split('\n').filter((line) => line !== '')
}

test(
  'the samples of the README compile',
  async () => {
    const samples = samplesOf('README.md')
    expect(samples.some((sample) => sample.includes('topology('))).toBe(true)
    const files = Object.fromEntries(samples.map((sample, i) => [`sample-${i}.ts`, sample]))
    // A deliberate error proves that the test can detect errors.
    expect(await faultsOf({ ...files, 'broken.ts': BROKEN })).toEqual([
      expect.stringMatching(/^broken\.ts\(3,\d+\): error TS\d+: Cannot find name 'missing'/),
    ])
  },
  COMPILE_TIMEOUT_MS,
)
