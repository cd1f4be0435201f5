import type { Incompatibility } from './compatibility.ts'

/**
 * The error codes of `RegistryError`, as defined by Confluent. The HTTP status is the first three digits of the code.
 * Errors with status 500 mean that the schemas topic is currently unavailable. All other errors are permanent.
 */
const REGISTRY_ERRORS = {
  subjectNotFound: 40401,
  versionNotFound: 40402,
  schemaNotFound: 40403,
  subjectSoftDeleted: 40404,
  subjectNotSoftDeleted: 40405,
  versionSoftDeleted: 40406,
  versionNotSoftDeleted: 40407,
  subjectConfigNotFound: 40408,
  subjectModeNotFound: 40409,
  incompatible: 409,
  invalidRequest: 400,
  invalidSchema: 42201,
  invalidVersion: 42202,
  invalidCompatibility: 42203,
  invalidMode: 42204,
  notPermitted: 42205,
  invalidSubject: 42208,
  store: 50001,
} as const

export type RegistryErrorName = keyof typeof REGISTRY_ERRORS

const STATUS_DIGITS = 3

export class RegistryError extends Error {
  override readonly name = 'RegistryError'
  readonly code: number
  readonly status: number
  constructor(name: RegistryErrorName, message: string) {
    super(message)
    this.code = REGISTRY_ERRORS[name]
    this.status = Number(String(this.code).slice(0, STATUS_DIGITS))
  }
}

export const subjectNotFound = (subject: string) => new RegistryError('subjectNotFound', `Subject '${subject}' not found.`)
export const versionNotFound = (version: number | string) => new RegistryError('versionNotFound', `Version ${version} not found.`)
export const schemaNotFound = () => new RegistryError('schemaNotFound', 'Schema not found')

/** Returns one message per incompatibility, with the names of the two schemas that were compared. */
export function incompatibleMessages(found: readonly Incompatibility[], reader: string, writer: string): string[] {
  return found.map(({ type, path, message }) => `${type} at '${path || '/'}': ${message} (reader: ${reader}, writer: ${writer})`)
}
