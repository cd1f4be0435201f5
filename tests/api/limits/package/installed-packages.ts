import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))

/**
 * Returns the folders in which these packages and all their dependencies are installed in this project, so that npm can
 * install them without a registry. If several versions of a package are needed, only the first one is returned.
 */
export function installedPackages(names: readonly string[]): string[] {
  const folders = new Map<string, string>()
  const open = names.map((name) => ({ name, from: ROOT }))
  for (const { name, from } of open) {
    if (folders.has(name)) continue
    const folder = folderOf(name, from)
    folders.set(name, folder)
    const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { dependencies?: object }
    open.push(...Object.keys(dependencies).map((dependency) => ({ name: dependency, from: folder })))
  }
  return [...folders.values()]
}

function folderOf(name: string, from: string): string {
  const folder = join(from, 'node_modules', name)
  if (existsSync(folder)) return folder
  if (from === dirname(from)) throw new Error(`${name} is not installed`)
  return folderOf(name, dirname(from))
}
