import type { SwipeDirection } from '../../../schemas/matches/directions.ts'
import { type CameBack, send } from '../send.ts'

export type RequestKind =
  | 'swipe'
  | 'rewind'
  | 'block'
  | 'unblock'
  | 'unmatch'
  | 'notify'
  | 'feed'
  | 'likes'
  | 'matches'
  | 'blocks'
  | 'location'
  | 'leave'
  | 'return'

/** A request and its response. Times are in epoch ms, and all processes of a round share one clock. */
export interface Asked extends CameBack {
  readonly kind: RequestKind
  readonly user: string
  /** Id of the other user in the request. */
  readonly other: string | undefined
  readonly direction: SwipeDirection | undefined
  readonly key: string | undefined
  readonly api: number
  readonly from: number
  readonly to: number
}

export interface Request {
  readonly kind: RequestKind
  readonly api: number
  readonly method?: string
  readonly path?: string
  readonly body?: unknown
  readonly other?: string
  readonly direction?: SwipeDirection
  readonly key?: string
}

export interface Client {
  readonly id: string
  ask(request: Request): Promise<Asked>
}

/**
 * Creates a client that sends the requests of a user, and records each with its response.
 * @param urlOf returns the current address of an API process
 */
export function client(id: string, token: string, urlOf: (api: number) => string, record: (asked: Asked) => void): Client {
  return {
    id,
    async ask(request) {
      const from = Date.now()
      const { kind, api, method = 'GET', path = kind, body, other, direction, key } = request
      const answer = await send(`${urlOf(api)}/v1/${path}`, { method, token, body, key })
      const asked: Asked = { kind, user: id, other, direction, key, api, from, to: Date.now(), ...answer }
      record(asked)
      return asked
    },
  }
}

export function isAccepted({ status }: Asked): boolean {
  return status >= 200 && status < 300
}

export const swipeOf = (api: number, other: string, direction: SwipeDirection, key?: string): Request => ({
  kind: 'swipe',
  api,
  method: 'POST',
  body: { target_user_id: other, direction },
  other,
  direction,
  key,
})

export const rewindOf = (api: number, key?: string): Request => ({ kind: 'rewind', api, method: 'POST', path: 'swipe/rewind', key })

export const blockOf = (api: number, other: string): Request => ({ kind: 'block', api, method: 'PUT', path: `blocks/${other}`, other })

export const unblockOf = (api: number, other: string): Request => ({
  kind: 'unblock',
  api,
  method: 'DELETE',
  path: `blocks/${other}`,
  other,
})

export const unmatchOf = (api: number, other: string, matchId: string): Request => ({
  kind: 'unmatch',
  api,
  method: 'DELETE',
  path: `matches/${matchId}`,
  other,
})

export const leaveOf = (api: number, key: string): Request => ({ kind: 'leave', api, method: 'DELETE', path: 'me', key })

export const returnOf = (api: number, key: string): Request => ({
  kind: 'return',
  api,
  method: 'PUT',
  path: 'me',
  body: { display_name: 'Back', birth_date: '1990-05-01' },
  key,
})
