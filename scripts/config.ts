import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Where the public data sets lie when MILLRACE_DATA says nothing: beside the checkout. */
const DEFAULT_DATA_FOLDER = fileURLToPath(new URL('../../shared/data', import.meta.url))

/** Where the public data sets (places, tweets …) are expected; `dataSet` says what is missing there. */
export function expectedDataFolder(): string {
  return process.env.MILLRACE_DATA ?? DEFAULT_DATA_FOLDER
}

/** The folder of the public data sets. Throws when it is not there. */
export function dataFolder(): string {
  const folder = expectedDataFolder()
  if (!existsSync(folder)) throw new Error(`no data in ${folder}: set MILLRACE_DATA to the folder that holds places/ and tweets/`)
  return folder
}
