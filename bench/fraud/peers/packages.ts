import { execFile } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { localConfig } from '../../../deploy/local/config.ts'
import { PeerMissingError } from '../../peer-missing.ts'

const run = promisify(execFile)
const INSTALL_TIMEOUT_MS = 120_000

/**
 * Returns a package that only this benchmark needs. The package is installed on first use, in the folder of downloaded
 * tools.
 * @throws PeerMissingError if the package cannot be installed
 */
export async function peerPackage<T>(name: string, version: string): Promise<T> {
  const folder = join(localConfig().home, 'tools', 'fraud-peers', `${name.replaceAll('/', '-')}-${version}`)
  if (!existsSync(join(folder, 'node_modules', name))) {
    mkdirSync(folder, { recursive: true })
    const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--no-save', `${name}@${version}`]
    await run('npm', args, { timeout: INSTALL_TIMEOUT_MS, cwd: folder }).catch((error: Error) => {
      throw new PeerMissingError(`npm cannot install ${name}: ${error.message.split('\n')[0]}`)
    })
  }
  return createRequire(join(folder, 'package.json'))(name) as T
}
