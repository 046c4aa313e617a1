import JSON

extension Record {
    /// The record as a line of NDJSON, without the line feed.
    package var json: String {
        switch self {
        case .request(let request): request.json
        case .connection(let event): event.json
        case .delivery(let event): event.json
        }
    }
}

extension RecordedRequest {
    var json: String {
        ByteBuffer.object {
            $0.append("type", "request")
            $0.append("time", TimeText.of(time))
            $0.append("connection", connection)
            $0.append("stream", stream)
            $0.append("status", status)
            $0.append("reason", reason)
            $0.append("ending", ending)
            $0.append("id", id)
            $0.append("uniqueID", uniqueID)
            $0.append("token", token)
            $0.append("topic", topic)
            $0.append("repeat", isRepeat)
            $0.append("fate", fate)
            $0.append("replaced", replaced)
            $0.append("kid", keyID)
            $0.append("iat", tokenIssuedAt)
            $0.append("headers", raw: headersJSON)
            $0.append("body", raw: BodyText.json(body))
            $0.append("warnings", warnings)
        }.text
    }

    private var headersJSON: String {
        ByteBuffer.object {
            for header in headers {
                $0.append(key: header.name)
                $0.appendJSON(header.value)
            }
        }.text
    }
}

/// Writes a request's body as a JSON value.
private enum BodyText {
    /// The body itself if it is JSON, else a JSON string.
    static func json(_ body: [UInt8]) -> String {
        var parser = JSONParser()
        let text = body.withUnsafeBytes { bytes -> String? in
            do throws(JSONError) { _ = try parser.parse(bytes) } catch { return nil }
            return oneLine(bytes)
        }
        return text ?? quoted(body)
    }

    /// Replaces line ends with spaces. JSON has line ends only outside of strings, because strings escape them.
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
        ByteBuffer.object {
            $0.append("type", "connection")
            $0.append("time", TimeText.of(time))
            $0.append("connection", connection)
            switch step {
            case .open(let remote, let topic):
                $0.append("event", "open")
                $0.append("remote", remote)
                $0.append("certificate", topic)
            case .settings(let streams):
                $0.append("event", "settings")
                $0.append("streams", streams)
            case .goAway(let lastStream, let code, let debug):
                $0.append("event", "goaway")
                $0.append("lastStream", lastStream)
                $0.append("code", code)
                $0.append("debug", debug)
            case .refused(let stream):
                $0.append("event", "refused")
                $0.append("stream", stream)
            case .reset(let stream, let code):
                $0.append("event", "reset")
                $0.append("stream", stream)
                $0.append("code", code)
            case .close(let requests):
                $0.append("event", "close")
                $0.append("requests", requests)
            case .failed(let reason):
                $0.append("event", "failed")
                $0.append("reason", reason)
            }
        }.text
    }
}

extension DeliveryEvent {
    var json: String {
        ByteBuffer.object {
            $0.append("type", "delivery")
            $0.append("time", TimeText.of(time))
            $0.append("id", id)
            $0.append("token", token)
            $0.append("topic", bundle)
            $0.append("fate", fate)
            $0.append("replaced", replaced)
        }.text
    }
}
