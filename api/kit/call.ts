import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Context } from 'hono'
import { socketOf } from './client-address.ts'

/** A request that reached the app either through the framework or directly from the HTTP server. */
export interface Call {
  /** The method in upper case. */
  readonly method: string
  /** The absolute URL. */
  readonly url: string
  /** The path as the router parses it. */
  readonly path: string
  /** The request target as the client sent it; undefined if the app does not run on Node's server. */
  readonly target: string | undefined
  /** The socket of the connection; undefined if the app does not run on Node's server. */
  readonly socket: Socket | undefined
  /** Node's request object of a direct call, for reading the body; undefined for other calls. */
  readonly incoming: IncomingMessage | undefined
  /** The parameters of the path. */
  readonly params: Readonly<Record<string, string>>
  /** The request with its body; undefined for a direct call. */
  readonly request: Request | undefined
  /** @param name in lower case */
  header(name: string): string | undefined
}

/** A call that the framework routed. */
export class RoutedCall implements Call {
  readonly incoming = undefined
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  get method(): string {
    return this.#context.req.method
  }

  get url(): string {
    return this.#context.req.url
  }

  get path(): string {
    return this.#context.req.path
  }

  get target(): string | undefined {
    return this.#context.env?.incoming?.url
  }

  get socket(): Socket | undefined {
    return socketOf(this.#context)
  }

  get params(): Record<string, string> {
    return this.#context.req.param()
  }

  get request(): Request {
    return this.#context.req.raw
  }

  header(name: string): string | undefined {
    return this.#context.req.header(name)
  }
}

/** A call that came directly from the HTTP server. Its target is a plain path, without a query. */
export class DirectCall implements Call {
  readonly method: string
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly request = undefined
  readonly incoming: IncomingMessage

  constructor(incoming: IncomingMessage, params: Readonly<Record<string, string>>) {
    this.method = incoming.method as string
    this.path = incoming.url as string
    this.params = params
    this.incoming = incoming
  }

  get url(): string {
    const { headers, socket } = this.incoming
    return `${(socket as TLSSocket).encrypted === true ? 'https' : 'http'}://${headers.host}${this.path}`
  }

  get target(): string {
    return this.path
  }

  get socket(): Socket {
    return this.incoming.socket
  }

  header(name: string): string | undefined {
    return this.incoming.headers[name] as string | undefined
  }
}
