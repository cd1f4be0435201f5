import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Where the public data sets lie when MILLRACE_DATA says nothing: beside the checkout. */
const DEFAULT_DATA_FOLDER = fileURLToPath(new URL('../../shared/data', import.meta.url))

/** The folder of the public data sets (places, tweets …). Throws when it is not there. */
export function dataFolder(): string {
  const folder = process.env.MILLRACE_DATA ?? DEFAULT_DATA_FOLDER
  if (!existsSync(folder)) throw new Error(`no data in ${folder}: set MILLRACE_DATA to the folder that holds places/ and tweets/`)
  return folder
}
