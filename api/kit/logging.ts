import { type DestinationStream, type LevelWithSilent, pino, stdSerializers } from 'pino'

/** A structured log. Each line is an event name in snake_case and its fields. */
export interface Logger {
  debug(fields: Record<string, unknown>, event: string): void
  info(fields: Record<string, unknown>, event: string): void
  warn(fields: Record<string, unknown>, event: string): void
  error(fields: Record<string, unknown>, event: string): void
  child(fields: Record<string, unknown>): Logger
}

/** Names of fields whose values are redacted. */
const SECRET_FIELDS = new Set(['authorization', 'token', 'password', 'secret', 'cookie', 'api_key'])
const CENSORED = '[redacted]'
/**
 * Matches the user name and the password in a URL. Error messages of client libraries may contain the URL of their
 * server. The lengths are limited, because a search without limits would take seconds for a long text with many colons.
 */
const URL_CREDENTIALS = /(?<=:\/\/)[^\s/@:]{0,256}:[^\s/@]{0,1024}(?=@)/g
/** Maximum depth at which fields are searched for secrets. No log line of the API nests deeper. */
const MAX_DEPTH = 4

/** @param destination default: standard output */
export function createLogger(level: LevelWithSilent, destination?: DestinationStream): Logger {
  const options = {
    level,
    messageKey: 'event',
    base: null,
    timestamp: timeField(),
    formatters: { level: (label: string) => ({ level: label }), log: withoutSecrets },
    serializers: { err: (error: unknown) => (error instanceof Error ? nested({ ...stdSerializers.err(error) }, 0) : error) },
  }
  return destination === undefined ? pino(options) : pino(options, destination)
}

/**
 * Returns a child logger that is created when it logs its first line. Most requests need no child, because they only
 * log that they are completed.
 * @param fields returns the fields of the child
 */
export function lazyChild(parent: Logger, fields: () => Record<string, unknown>): Logger {
  return new LazyChild(parent, fields)
}

/**
 * This is a class, because an object with its own functions would cost every request as much as creating a small child
 * logger.
 */
class LazyChild implements Logger {
  readonly #parent: Logger
  readonly #fields: () => Record<string, unknown>
  #child: Logger | undefined

  constructor(parent: Logger, fields: () => Record<string, unknown>) {
    this.#parent = parent
    this.#fields = fields
  }

  get #created(): Logger {
    this.#child ??= this.#parent.child(this.#fields())
    return this.#child
  }

  debug(fields: Record<string, unknown>, event: string): void {
    this.#created.debug(fields, event)
  }

  info(fields: Record<string, unknown>, event: string): void {
    this.#created.info(fields, event)
  }

  warn(fields: Record<string, unknown>, event: string): void {
    this.#created.warn(fields, event)
  }

  error(fields: Record<string, unknown>, event: string): void {
    this.#created.error(fields, event)
  }

  child(fields: Record<string, unknown>): Logger {
    return this.#created.child(fields)
  }
}

/** Length of `2026-01-15T12:00:00.` */
const SECOND_LENGTH = 20
const MS_PER_SECOND = 1_000

/**
 * Creates the function that returns a line's time in ISO 8601. The text up to the second is cached, because a busy API
 * writes many lines within one second.
 */
function timeField(): () => string {
  let second = Number.NaN
  let text = ''
  return function timeOfLine() {
    const now = Date.now()
    const ms = now % MS_PER_SECOND
    if (now - ms !== second) {
      second = now - ms
      text = `,"time":"${new Date(now).toISOString().slice(0, SECOND_LENGTH)}`
    }
    return `${text}${String(ms).padStart(3, '0')}Z"`
  }
}

/**
 * Redacts secrets. Copies only objects that must change, because most log lines are flat and contain no secret. Pino's
 * own redaction, which is by path, would cost ten times as much.
 */
function withoutSecrets(fields: Record<string, unknown>, depth = 1): Record<string, unknown> {
  let clean = fields
  for (const name in fields) {
    const value = fields[name]
    const allowed = SECRET_FIELDS.has(name) ? CENSORED : nested(value, depth)
    if (allowed === value) continue
    if (clean === fields) clean = { ...fields }
    clean[name] = allowed
  }
  return clean
}

function nested(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.includes('://') ? value.replaceAll(URL_CREDENTIALS, CENSORED) : value
  if (Array.isArray(value) && depth < MAX_DEPTH) {
    const clean = value.map((one) => nested(one, depth + 1))
    return clean.some((one, index) => one !== value[index]) ? clean : value
  }
  const isPlain = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Error)
  return isPlain && depth < MAX_DEPTH ? withoutSecrets(value as Record<string, unknown>, depth + 1) : value
}
