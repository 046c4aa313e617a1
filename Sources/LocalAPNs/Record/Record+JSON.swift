import JSON

extension Record {
    /// One line of NDJSON, without its end.
    public var json: String {
        switch self {
        case .request(let request): request.json
        case .connection(let event): event.json
        case .delivery(let event): event.json
        }
    }
}

extension RecordedRequest {
    var json: String {
        var line = ObjectLine()
        line.add("type", "request")
        line.add("time", TimeText.of(time))
        line.add("connection", connection)
        line.add("stream", stream)
        line.add("status", status)
        line.add("reason", reason)
        line.add("ending", ending)
        line.add("id", id)
        line.add("uniqueID", uniqueID)
        line.add("token", token)
        line.add("topic", topic)
        line.add("repeat", isRepeat)
        line.add("fate", fate)
        line.add("replaced", replaced)
        line.add("kid", keyID)
        line.add("iat", tokenIssuedAt)
        line.add("headers", raw: headersJSON)
        line.add("body", raw: BodyText.json(body))
        line.add("warnings", warnings)
        return line.text
    }

    private var headersJSON: String {
        var line = ObjectLine()
        for header in headers { line.add(header.name, header.value) }
        return line.text
    }
}

/// A body as part of a line.
private enum BodyText {
    /// As it came if it is JSON, else as a text.
    static func json(_ body: [UInt8]) -> String {
        var parser = JSONParser()
        let text = body.withUnsafeBytes { bytes -> String? in
            do throws(JSONError) { _ = try parser.parse(bytes) } catch { return nil }
            return oneLine(bytes)
        }
        return text ?? quoted(body)
    }

    /// In JSON an end of line is a blank: within texts it is escaped.
    private static func oneLine(_ bytes: UnsafeRawBufferPointer) -> String {
        String(decoding: bytes.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }, as: UTF8.self)
    }

    private static func quoted(_ body: [UInt8]) -> String {
        var buffer = ByteBuffer()
        buffer.appendJSON(String(decoding: body, as: UTF8.self))
        return buffer.text
    }
}

extension ConnectionEvent {
    var json: String {
        var line = ObjectLine()
        line.add("type", "connection")
        line.add("time", TimeText.of(time))
        line.add("connection", connection)
        switch step {
        case .open(let remote, let topic):
            line.add("event", "open")
            line.add("remote", remote)
            line.add("certificate", topic)
        case .settings(let streams):
            line.add("event", "settings")
            line.add("streams", streams)
        case .goAway(let lastStream, let code, let debug):
            line.add("event", "goaway")
            line.add("lastStream", lastStream)
            line.add("code", code)
            line.add("debug", debug)
        case .refused(let stream):
            line.add("event", "refused")
            line.add("stream", stream)
        case .reset(let stream, let code):
            line.add("event", "reset")
            line.add("stream", stream)
            line.add("code", code)
        case .close(let requests):
            line.add("event", "close")
            line.add("requests", requests)
        case .failed(let reason):
            line.add("event", "failed")
            line.add("reason", reason)
        }
        return line.text
    }
}

extension DeliveryEvent {
    var json: String {
        var line = ObjectLine()
        line.add("type", "delivery")
        line.add("time", TimeText.of(time))
        line.add("id", id)
        line.add("token", token)
        line.add("topic", bundle)
        line.add("fate", fate)
        line.add("replaced", replaced)
        return line.text
    }
}
