/** Answers with their tags; the least recently used ones are evicted first. */
export interface CachedAnswer {
  readonly etag: string
  readonly text: string
  /** A sealed page never changes, so it is not requested again. */
  readonly isImmutable: boolean
}

export class EtagCache {
  readonly #maxChars: number
  readonly #answers = new Map<string, CachedAnswer>()
  #chars = 0

  constructor(maxChars: number) {
    this.#maxChars = maxChars
  }

  get(url: string): CachedAnswer | undefined {
    const answer = this.#answers.get(url)
    if (answer === undefined) return undefined
    this.#answers.delete(url)
    this.#answers.set(url, answer)
    return answer
  }

  set(url: string, answer: CachedAnswer): void {
    this.#remove(url)
    if (answer.text.length > this.#maxChars) return
    this.#answers.set(url, answer)
    this.#chars += answer.text.length
    for (const oldest of this.#answers.keys()) {
      if (this.#chars <= this.#maxChars) return
      this.#remove(oldest)
    }
  }

  #remove(url: string): void {
    this.#chars -= this.#answers.get(url)?.text.length ?? 0
    this.#answers.delete(url)
  }
}
