import { createHmac, createSecretKey } from 'node:crypto'
import { canonicalEmail, canonicalPhone } from './canonical.ts'

/** Hashes of personal data, with which equal values can be recognised, but not read without the key. */
export interface PersonalHashes {
  /** @returns 32 hexadecimal digits, equal for equal canonical addresses */
  email(address: string): string
  /** @returns 32 hexadecimal digits, equal for equal canonical numbers */
  phone(number: string): string
}

/** 128 bits in hexadecimal digits. Two of a billion values share a hash with a probability of 1e-21. */
const HASH_CHARACTERS = 32

/** Hashes with HMAC-SHA-256. @param key FRAUD_HASH_KEY; hashes of other keys cannot be compared */
export function personalHashes(key: string): PersonalHashes {
  // Creating the key for each hash would cost as much as the hash.
  const secret = createSecretKey(key, 'utf8')

  /** The kind is part of the input, so that nobody can compare an address with a number. */
  function hash(kind: string, value: string): string {
    return createHmac('sha256', secret).update(`${kind}:${value}`).digest('hex').slice(0, HASH_CHARACTERS)
  }

  return {
    email: (address) => hash('email', canonicalEmail(address)),
    phone: (number) => hash('phone', canonicalPhone(number)),
  }
}
