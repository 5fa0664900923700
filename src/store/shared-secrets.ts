/** The storage port of secrets that all processes use. The caller encrypts them: the store sees no secret. */
export interface SharedSecrets {
  /** What was stored first under this name, by whichever process: the proposed value where there was none. */
  sharedSecret(name: string, proposed: string): Promise<string>
}

/** Secrets as they are stored, for a copy of them. */
interface StoredSecrets {
  get(name: string): Promise<string | undefined>
  /** The first one under a name stays. */
  put(name: string, value: string): Promise<void>
}

/** Where a store has its secrets: encrypted among its data, or as files in a folder. */
export interface SecretPlace {
  readonly stored?: StoredSecrets
  readonly folder?: string
}
