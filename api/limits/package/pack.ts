import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SOURCE = fileURLToPath(new URL('.', import.meta.url))
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const FILES = [join(SOURCE, 'package.json'), join(SOURCE, 'README.md'), join(ROOT, 'LICENSE')]

/**
 * Compiles the middleware to JavaScript with type declarations, and packs it as an npm package.
 * @param folder the output folder. Existing contents are replaced.
 * @returns the path of the tarball, inside the folder
 */
export function buildPackage(folder: string): string {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const file of FILES) cpSync(file, join(folder, file.slice(file.lastIndexOf('/') + 1)))
  run(join(ROOT, 'node_modules', '.bin', 'tsc'), ['--project', SOURCE, '--outDir', join(folder, 'lib')], ROOT)
  const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--ignore-scripts'], folder)) as { filename: string }[]
  return join(folder, filename)
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status === 0) return stdout
  throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? stdout + stderr}`)
}
