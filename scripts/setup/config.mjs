import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The environment variables. The rest of the setup reads them only through this constant. */
export const ENV = process.env

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..')
export const HOME = resolve(ENV.MILLRACE_HOME || join(ROOT, '.millrace'))
export const TOOLS = join(HOME, 'tools')
export const SETUP_LOG = join(HOME, 'logs', 'setup.log')
