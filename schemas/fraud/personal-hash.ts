import { createHmac, createSecretKey } from 'node:crypto'
import { canonicalEmail, canonicalPhone } from './canonical.ts'

/**
 * Keyed hashes of personal data. They show whether two values are equal. Without the key, they do not reveal the
 * values.
 */
export interface PersonalHashes {
  /**
   * Hashes an e-mail address.
   * @returns 32 hexadecimal digits, equal for equal canonical addresses
   */
  email(address: string): string
  /**
   * Hashes a phone number.
   * @returns 32 hexadecimal digits, equal for equal canonical numbers
   */
  phone(number: string): string
}

/**
 * Length of a hash in hexadecimal digits (128 bits). The probability that any two of a billion values share a hash is
 * 1e-21.
 */
const HASH_CHARACTERS = 32

/**
 * Creates hashes with HMAC-SHA-256.
 * @param key the value of FRAUD_HASH_KEY; hashes with different keys cannot be compared
 */
export function personalHashes(key: string): PersonalHashes {
  // The key object is created once, because creating it for each hash would cost as much as the hash.
  const secret = createSecretKey(key, 'utf8')

  /**
   * Hashes a value together with its kind, so that the hash of an address cannot be compared with the hash of a phone
   * number.
   */
  function hash(kind: string, value: string): string {
    return createHmac('sha256', secret).update(`${kind}:${value}`).digest('hex').slice(0, HASH_CHARACTERS)
  }

  return {
    email: (address) => hash('email', canonicalEmail(address)),
    phone: (number) => hash('phone', canonicalPhone(number)),
  }
}
