/** The partitions of one topic, in the form in which heartbeats list them. */
export interface OwnedPartitions {
  readonly topicId: string
  readonly partitions: number[]
}

/** The data needed to repeat the heartbeats of a member after it has joined its group. */
export interface KeptSession {
  readonly groupId: string
  readonly memberId: string
  readonly epoch: number
  /** The partitions that the member owns. */
  readonly owned: OwnedPartitions[]
  readonly intervalMs: number
  /** Client id of the repeated heartbeats. Other members see it. */
  readonly clientId: string
}

/**
 * Results of the heartbeats that the stall thread sent for one membership. The object is shared between the main thread
 * and the stall thread.
 */
export class KeptBeats {
  readonly memory: SharedArrayBuffer
  /** The epoch of the last accepted heartbeat, and the number of accepted heartbeats. */
  readonly #cells: Int32Array

  constructor(memory = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory
    this.#cells = new Int32Array(memory)
  }

  answered(epoch: number): void {
    Atomics.store(this.#cells, 0, epoch)
    Atomics.add(this.#cells, 1, 1)
  }

  get epoch(): number {
    return Atomics.load(this.#cells, 0)
  }

  get count(): number {
    return Atomics.load(this.#cells, 1)
  }
}

/** Messages from the main thread to the stall thread. `id` identifies a membership within the process. */
export type StallMessage =
  | { readonly type: 'keep'; readonly id: number; readonly session: KeptSession; readonly beats: SharedArrayBuffer }
  | { readonly type: 'release'; readonly id: number }

/** A membership whose session the guard keeps alive while the event loop is blocked. */
export interface GuardedMembership {
  update(session: KeptSession): void
  /** Returns the latest epoch if heartbeats of the guard were accepted since the last call; otherwise undefined. */
  takeEpoch(): number | undefined
  release(): void
}

/**
 * Repeats the heartbeats of this process's members in a separate thread while a long computation blocks the event loop.
 * The thread stops sending heartbeats when the loop is blocked for longer than `stallToleranceMs`, so that a process
 * that hangs loses its partitions. The thread starts with the first membership.
 */
export interface StallGuard {
  guard(): GuardedMembership
  close(): Promise<void>
}
