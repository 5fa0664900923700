/** The storage port of secrets that all processes use. The caller encrypts them, so the store never sees a secret. */
export interface SharedSecrets {
  /** Returns the value that any process stored first under this name, or stores and returns the proposed one. */
  sharedSecret(name: string, proposed: string): Promise<string>
}

/** The length of a secret in a key file. */
export const SECRET_BYTES = 32

/** Stored secrets, for copying a store. */
interface StoredSecrets {
  get(name: string): Promise<string | undefined>
  /** The first value under a name stays. */
  put(name: string, value: string): Promise<void>
}

/** Where a store keeps its secrets: encrypted among its data, or as files in a folder. */
export interface SecretPlace {
  readonly stored?: StoredSecrets
  readonly folder?: string
}
