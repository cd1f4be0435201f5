import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from './commands.mjs'
import { runNpm } from './npm.mjs'

/**
 * Installs packages, but not their dependencies, if their tarballs have the given hashes. All hashes are checked before
 * anything is unpacked, and the folder appears only when everything is installed. npm itself compares a tarball only
 * with the hash from the same registry. That comparison detects damage but not forgery.
 *   @param packages name, version and integrity (`sha512-…` in base64, as registries publish it) of each package
 *   @param npm command and first arguments of npm
 *   @param isUsable returns whether the folder is complete. Another command may have installed the packages at the same
 *   time and may already be using them
 */
export async function installPinned(packages, npm, folder, isUsable) {
  const partial = `${folder}.partial-${process.pid}`
  try {
    mkdirSync(partial, { recursive: true })
    writeFileSync(join(partial, 'package.json'), '{"private":true}')
    const tarballs = packages.map(({ name, version }) => `./${name}-${version}.tgz`)
    await runNpm(npm, ['pack', ...packages.map(({ name, version }) => `${name}@${version}`)], partial)
    for (const [index, tarball] of tarballs.entries()) assertPinned(packages[index], join(partial, tarball))
    await runNpm(npm, ['install', '--no-save', '--ignore-scripts', '--offline', ...tarballs], partial)
    for (const tarball of tarballs) rmSync(join(partial, tarball))
    try {
      // Renaming fails if the folder exists and is not empty.
      renameSync(partial, folder)
    } catch {
      if (isUsable()) return
      rmSync(folder, { recursive: true, force: true })
      renameSync(partial, folder)
    }
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
}

function assertPinned({ name, version, integrity }, tarball) {
  const found = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`
  if (found === integrity) return
  throw new Failure(
    `${name}@${version} from the registry does not have the hash in scripts/setup/node.mjs; nothing was installed. Use a registry that you trust and try again`,
  )
}
