import JSON

extension PayloadWriter {
    /// All parts but as few of the first as a payload of ``Push/payloadBytesMax`` bytes has no room for.
    ///
    /// Each part that goes makes the payload shorter, so their number is found by halving. But when the last visible part
    /// goes, what makes a push one of the background comes, and that may be longer: before and behind are looked at apart.
    func fittingParts(_ badge: Int) -> PayloadParts {
        let visible = parts.countBeforeLastVisible
        var (tooFew, enough) = (0, visible)
        if visible == 0 || bytes(dropping: visible, badge) > Push.payloadBytesMax {
            (tooFew, enough) = (visible, parts.count)
        }
        while enough - tooFew > 1 {
            let count = (tooFew + enough) / 2
            if bytes(dropping: count, badge) > Push.payloadBytesMax { tooFew = count } else { enough = count }
        }
        return parts.dropping(enough)
    }

    /// The length of the payload without its first parts.
    func bytes(dropping count: Int, _ badge: Int) -> Int {
        var buffer = ByteBuffer(capacity: 8 << 10)
        write(parts.dropping(count), badge, into: &buffer)
        return buffer.count
    }
}
