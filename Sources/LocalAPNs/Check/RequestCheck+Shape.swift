/// Checks that the request is well-formed HTTP/2, has the right path and method, and repeats no header of APNs.
extension RequestCheck {
    static let pathPrefix = "/3/device"

    func checkShape(_ inspection: Inspection, hasBody: Bool) throws(Refusal) {
        let request = inspection.request
        guard HeaderRules.areMet(by: request, hasBody: hasBody) else { throw .reset(.protocolError) }
        let path = request.header(":path") ?? ""
        guard path == RequestCheck.pathPrefix || path.hasPrefix(RequestCheck.pathPrefix + "/") else {
            throw .answer(status: 404, reason: "BadPath")
        }
        guard request.header(":method") == "POST" else { throw .answer(status: 405, reason: "MethodNotAllowed") }
        guard !RequestCheck.hasDuplicates(request) else { throw .bad("DuplicateHeaders") }
    }

    private static let headersAllowedOnce: Set<String> = [
        "authorization", "apns-topic", "apns-push-type", "apns-priority", "apns-expiration", "apns-id",
        "apns-collapse-id",
    ]

    private static func hasDuplicates(_ request: PushRequest) -> Bool {
        var seen: Set<String> = []
        return request.headers.contains { headersAllowedOnce.contains($0.name) && !seen.insert($0.name).inserted }
    }
}

/// The rules for well-formed requests (RFC 9113 §8.1.1, §8.2, §8.3). A malformed request gets a stream error instead of
/// an answer.
enum HeaderRules {
    static func areMet(by request: PushRequest, hasBody: Bool) -> Bool {
        request.headers.allSatisfy { isLegal($0) } && hasPseudoHeaders(request) && hasFittingLength(request, hasBody)
    }

    private static let banned: Set<String> = [
        "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade",
    ]

    private static func isLegal(_ header: Header) -> Bool {
        let name = header.name.hasPrefix(":") ? header.name.dropFirst() : header.name[...]
        return !name.isEmpty && name.utf8.allSatisfy(isNameByte) && !banned.contains(header.name)
            && (header.name != "te" || header.value == "trailers") && isLegal(value: header.value)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: ":")
            && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }

    private static func isLegal(value: String) -> Bool {
        let bytes = value.utf8
        guard !bytes.contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) else { return false }
        return !isBlank(bytes.first) && !isBlank(bytes.last)
    }

    private static func isBlank(_ byte: UInt8?) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Whether the pseudo-headers are complete and known, occur once each, and come before all other headers, and the
    /// path is not empty.
    private static func hasPseudoHeaders(_ request: PushRequest) -> Bool {
        let leading = request.headers.prefix { $0.name.hasPrefix(":") }.map(\.name)
        let all = request.headers.filter { $0.name.hasPrefix(":") }.count
        guard all == leading.count, Set(leading).count == all else { return false }
        return Set(leading).isSuperset(of: [":method", ":scheme", ":path"])
            && Set(leading).isSubset(of: [":method", ":scheme", ":path", ":authority"])
            && request.header(":path")?.isEmpty == false
    }

    private static func hasFittingLength(_ request: PushRequest, _ hasBody: Bool) -> Bool {
        guard let text = request.header("content-length") else { return true }
        guard let length = WholeNumber.value(of: text) else { return false }
        return !hasBody || length == request.bodyBytes
    }
}
