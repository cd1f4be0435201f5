import { randomUUID } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ChdbResult, drainPending, Session } from 'chdb'
import { identifier, literal, MultiStatementError, readStatement, type Statement } from './sql.ts'

/** One request to the engine, as parsed by the HTTP interface. */
export interface EngineRequest {
  readonly sql: string
  /**
   * The body of a request with a statement in its URL: the rows of an INSERT, or the rest of the statement. Empty if
   * the statement is in the body.
   */
  readonly data: Buffer
  readonly database: string | undefined
  readonly settings: ReadonlyMap<string, string>
  /** Values for the placeholders `{name:Type}` in the statement, keyed by name, in ClickHouse's escaped text format. */
  readonly parameters: ReadonlyMap<string, string>
  readonly defaultFormat: string
  readonly readOnly: boolean
}

export interface EngineAnswer {
  readonly bytes: Uint8Array
  readonly format: string
  readonly rowsRead: number
  readonly bytesRead: number
  readonly elapsedSeconds: number
}

export interface Engine {
  /** @throws EngineError */
  execute(request: EngineRequest): Promise<EngineAnswer>
  close(): Promise<void>
}

/** An error with ClickHouse's error code. */
export class EngineError extends Error {
  override readonly name = 'EngineError'
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

const SYNTAX_ERROR = 62
const TOO_MANY_QUERIES = 202
const NOT_ENOUGH_SPACE = 243
const UNKNOWN_EXCEPTION = 1002
/**
 * Maximum number of queries that run at once. It is less than the size of the thread pool (16), so that queries leave
 * threads for file access and compression.
 */
const PARALLEL_QUERIES = 12
/**
 * Maximum number of waiting queries. ClickHouse executes this many short queries in about a second, so a longer queue
 * would delay new queries by more than a second.
 */
const WAITING_QUERIES = 2_000
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const READ_ONLY_WITH_SETTINGS = '2'

/**
 * Opens a ClickHouse engine inside this process. Every request gets its own session on the same data folder, so that
 * its settings and parameters cannot affect other requests. Opening a session takes 0.3 ms. Parameters are set by `SET
 * param_x` in the session, because chdb's parameter binding serializes all queries of the process.
 *
 * The rows of an INSERT are passed in a file. Inline data would end at the first blank line, and the text after that
 * line would run as SQL. A file is also faster: 800,000 rows/s instead of 560,000 (inserts of 10,000 rows of JSON).
 */
export async function openEngine(dataDir: string): Promise<Engine> {
  const path = join(dataDir, 'db')
  const spool = join(dataDir, 'inserts')
  await rm(spool, { recursive: true, force: true })
  await mkdir(spool, { recursive: true })
  // Keeps the engine open between requests.
  const anchor = new Session(path)
  const limit = limiter(PARALLEL_QUERIES, WAITING_QUERIES)

  async function execute(given: EngineRequest): Promise<EngineAnswer> {
    const { request, statement } = understood(given)
    const { result, format } = await limit(() => inSession(request, statement))
    return { bytes: result.bytes(), format, rowsRead: result.rowsRead, bytesRead: result.bytesRead, elapsedSeconds: result.elapsed }
  }

  async function inSession(request: EngineRequest, statement: Statement): Promise<{ result: ChdbResult; format: string }> {
    const session = new Session(path)
    let file: string | undefined
    try {
      for (const sql of preparations(request)) await session.queryAsync(sql)
      if (statement.kind !== 'insert-data') {
        const format = (statement.kind === 'query' ? statement.format : undefined) ?? request.defaultFormat
        return { result: await session.queryAsync(request.sql, { format: request.defaultFormat }), format }
      }
      file = join(spool, randomUUID())
      await writeFile(file, insertedData(request, statement.dataStart))
      const { head, settings, format } = statement
      return { result: await session.queryAsync(`${head} FROM INFILE ${literal(file)} ${settings} FORMAT ${format}`), format }
    } catch (error) {
      throw engineError(error)
    } finally {
      session.close()
      if (file) await rm(file, { force: true })
    }
  }

  async function close(): Promise<void> {
    await drainPending()
    anchor.close()
    await drainPending()
  }

  return { execute, close }
}

/**
 * Parses the statement of a request. If the statement is not an INSERT with data, the body is treated as a continuation
 * of the statement.
 */
function understood(request: EngineRequest): { request: EngineRequest; statement: Statement } {
  const statement = statementOf(request.sql)
  if (statement.kind !== 'insert-data' && request.data.length > 0) {
    return understood({ ...request, sql: `${request.sql}\n${request.data.toString()}`, data: Buffer.alloc(0) })
  }
  if (statement.kind === 'empty') throw new EngineError(SYNTAX_ERROR, exception(SYNTAX_ERROR, 'Empty query', 'SYNTAX_ERROR'))
  return { request, statement }
}

function statementOf(sql: string): Statement {
  try {
    return readStatement(sql)
  } catch (error) {
    if (!(error instanceof MultiStatementError)) throw error
    throw new EngineError(SYNTAX_ERROR, exception(SYNTAX_ERROR, `Multi-statements are not allowed: ${error.message}`, 'SYNTAX_ERROR'))
  }
}

/**
 * Returns the rows of an INSERT. They may begin in the statement, after the format's name, and continue in the body.
 */
function insertedData({ sql, data }: EngineRequest, dataStart: number): Buffer {
  return dataStart >= sql.length ? data : Buffer.concat([Buffer.from(sql.slice(dataStart)), data])
}

function preparations(request: EngineRequest): string[] {
  const assignments: string[] = []
  // By default, ClickHouse parses a file with several threads. This is slower on two cores, and needs more memory.
  if (!request.settings.has('input_format_parallel_parsing')) assignments.push("input_format_parallel_parsing = '0'")
  for (const [name, value] of request.settings) assignments.push(`${checkedName(name)} = ${literal(value)}`)
  for (const [name, value] of request.parameters) assignments.push(`param_${checkedName(name)} = ${literal(value)}`)
  if (request.readOnly) assignments.push(`readonly = ${literal(READ_ONLY_WITH_SETTINGS)}`)
  const statements = [`SET ${assignments.join(', ')}`]
  if (request.database) statements.unshift(`USE ${identifier(request.database)}`)
  return statements
}

function checkedName(name: string): string {
  if (NAME.test(name)) return name
  throw new EngineError(SYNTAX_ERROR, exception(SYNTAX_ERROR, `Invalid name of a setting or parameter: ${name}`, 'SYNTAX_ERROR'))
}

/** Returns the error that a client gets for a failed request. */
export function engineError(error: unknown): EngineError {
  if (error instanceof EngineError) return error
  const message = (error as Error).message
  // The rows of an INSERT did not fit on the disk. With this code, clients try again later.
  if ((error as NodeJS.ErrnoException).code === 'ENOSPC')
    return new EngineError(NOT_ENOUGH_SPACE, exception(NOT_ENOUGH_SPACE, message, 'NOT_ENOUGH_SPACE'))
  const code = Number(/^Code: (\d+)\./.exec(message)?.[1] ?? UNKNOWN_EXCEPTION)
  return new EngineError(code, message.startsWith('Code:') ? message : exception(code, message, 'UNKNOWN_EXCEPTION'))
}

function exception(code: number, message: string, name: string): string {
  return `Code: ${code}. DB::Exception: ${message}. (${name})`
}

/**
 * Creates a queue that runs at most `parallel` jobs at once, in order of arrival. Rejects new jobs when too many are
 * waiting.
 */
function limiter(parallel: number, waitingLimit: number) {
  const waiting: (() => void)[] = []
  let running = 0
  return async function limited<T>(job: () => Promise<T>): Promise<T> {
    if (running >= parallel) {
      if (waiting.length >= waitingLimit) {
        throw new EngineError(
          TOO_MANY_QUERIES,
          exception(TOO_MANY_QUERIES, 'Too many queries are waiting', 'TOO_MANY_SIMULTANEOUS_QUERIES'),
        )
      }
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running++
    try {
      return await job()
    } finally {
      // Hands the slot to the next waiting job, or frees it.
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
