import JSON

extension PayloadWriter {
    /// The parts for which a payload of ``Push/payloadBytesMax`` bytes has room.
    ///
    /// Parts are left out in order until the payload fits. Then each part that fits again is put back, the most
    /// valuable first. So a long part does not displace short parts, and every part for which there is room stays.
    ///
    /// - Parameter mayBeVisible: False for a background push.
    func fittingParts(_ badge: Int, mayBeVisible: Bool = true) -> PayloadParts {
        let all = mayBeVisible ? parts : parts.subtracting(.visible).subtracting(.contentAvailable)
        guard bytes(all, badge) > Push.payloadBytesMax else { return all }
        var kept = partsInOrder(of: all, badge)
        for part in all.subtracting(kept).mostValuableFirst {
            let more = kept.union(part)
            if bytes(more, badge) <= Push.payloadBytesMax { kept = more }
        }
        return kept
    }

    /// The parts that remain when as few parts as possible are left out in order.
    ///
    /// Each part that is left out makes the payload shorter, so a binary search finds the number of parts to leave out.
    /// There is one exception: without its last visible part the push gets the longer `aps` of a background push. So
    /// the search first tries to leave out only parts before the last visible part. If the payload is still too long
    /// without all of these parts, the search also leaves out later parts.
    private func partsInOrder(of all: PayloadParts, _ badge: Int) -> PayloadParts {
        func isTooLong(without count: Int) -> Bool { bytes(all.dropping(count), badge) > Push.payloadBytesMax }
        let early = all.countBeforeLastVisible
        var (tooFew, enough) = (0, early)
        if early == 0 || isTooLong(without: early) { (tooFew, enough) = (early, all.count) }
        while enough - tooFew > 1 {
            let count = (tooFew + enough) / 2
            if isTooLong(without: count) { tooFew = count } else { enough = count }
        }
        return all.dropping(enough)
    }

    /// The length of the payload with these parts.
    func bytes(_ kept: PayloadParts, _ badge: Int) -> Int {
        var buffer = ByteBuffer(capacity: 8 << 10)
        write(kept, badge, into: &buffer)
        return buffer.count
    }
}
