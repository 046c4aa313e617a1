/// Why a client's request cannot be answered.
package enum RecordReadError: Error, Hashable, Sendable {
    case zoneNotFound(ZoneKey)
    /// The text is not a token that Belfry gave for this zone or database.
    case badToken
    /// The client has to read everything again.
    case tokenExpired(TokenExpiry)
    /// The query is refused: see ``QueryRefusal``.
    case badQuery(QueryRefusal)
    /// The records, subscriptions or zones that the client asked for have more bytes together than one answer may have.
    /// Of records, only the fields count.
    case answerTooLong(bytesMax: Int)
    /// The read's ``ReadLimit`` stopped it, because nobody needs the result any more.
    case cancelled
    /// The read's ``ReadLimit`` stopped it, because it took too long. If `lacksIndex` is true, an index that may make
    /// the query faster is about to be built.
    case tookTooLong(lacksIndex: Bool)
    case store(RecordStoreError)
}

/// Why a change token is no longer valid.
package enum TokenExpiry: Sendable, Hashable {
    /// The token belongs to another log.
    case otherLog
    /// This store has not applied all events that the token covers. A store that lags may apply them later.
    case ahead
    /// The store may lack deletions that came after the token.
    case tooOld
    /// The zone was deleted and made again.
    case newZone
}
