/** Files that belong together, such as a trained model. A record of a compacted topic names them. */
export interface FileVersion {
  /** Unique among all versions, for example a time and a hash. */
  readonly version: string
  /** Number of the version, counted from 1. */
  readonly sequence: number
  readonly files: readonly VersionFile[]
}

export interface VersionFile {
  /** The file's name in the folder of the version. */
  readonly name: string
  /** SHA-256 of the content, which is the name of its blob. */
  readonly hash: string
  readonly bytes: number
}

/** Thrown for a version that is invalid or does not match a stored blob. None of its files may be used. */
export class VersionRefusedError extends Error {
  override readonly name = 'VersionRefusedError'
}

/**
 * Maximum number of files in a version. A version contains only a few files, such as vectors, trees and a manifest.
 */
const MOST_FILES = 64
/**
 * Allowed names of versions and files. Names are used as file names, so they contain no separator and do not begin with
 * a dot.
 */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
const HASH = /^[0-9a-f]{64}$/

/**
 * Checks the fields of a version, but not its files.
 * @throws VersionRefusedError if a field is invalid, for example a name that leads out of the version's folder
 */
export function checkVersion({ version, sequence, files }: FileVersion): void {
  const refuse = (fault: string): never => {
    throw new VersionRefusedError(`The version ${JSON.stringify(version)} is refused, because ${fault}.`)
  }
  if (!NAME.test(version))
    refuse('its name does not consist of 1 to 128 letters, digits, dots, dashes and underscores, with a letter or digit first')
  if (!Number.isSafeInteger(sequence) || sequence < 1) refuse(`its sequence is ${sequence} instead of a positive integer`)
  if (files.length === 0 || files.length > MOST_FILES) refuse(`it has ${files.length} files, but must have 1 to ${MOST_FILES}`)
  const names = new Set<string>()
  for (const { name, hash, bytes } of files) {
    if (!NAME.test(name))
      refuse(
        `the file name ${JSON.stringify(name)} does not consist of 1 to 128 letters, digits, dots, dashes and underscores, with a letter or digit first`,
      )
    if (names.has(name)) refuse(`it names the file ${name} twice`)
    if (!HASH.test(hash)) refuse(`the hash of ${name} is not a SHA-256 in 64 lower-case hexadecimal digits`)
    if (!Number.isSafeInteger(bytes) || bytes < 0) refuse(`the length of ${name} is ${bytes}, which is not a number of bytes`)
    names.add(name)
  }
}
