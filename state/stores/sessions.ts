import type { StateBackend, StateSession } from './store.ts'

/** Manages the sessions of a backend: two for each topology, opened on first use. */
export function sessionsOf(open: (topology: string) => StateSession): Pick<StateBackend, 'session' | 'copySession'> {
  function opener(): (topology: string) => StateSession {
    const sessions = new Map<string, StateSession>()
    return (topology) => {
      const session = sessions.get(topology) ?? open(topology)
      sessions.set(topology, session)
      return session
    }
  }
  return { session: opener(), copySession: opener() }
}
