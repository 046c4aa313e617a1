import ArgumentParser
import LocalAPNs

/// Describes what a local APNs recorded: requests, events of connections, and deliveries. Writes text or JSON.
struct APNsDisplay: Sendable {
    enum Form: String, CaseIterable, ExpressibleByArgument { case requests, device }

    /// The form of the lines; nil for JSON.
    let form: Form?
    let isColoured: Bool

    private var painter: Painter { Painter(isColoured: isColoured) }

    /// - Returns: Nil if this form does not show the record.
    func text(of record: Record) -> String? {
        switch (form, record) {
        case (nil, _): record.json
        case (.requests, .request(let request)): line(request)
        case (.requests, .connection(let event)): painter.dim(line(event))
        case (.requests, .delivery(let event)):
            "\(clock(event.time)) \(event.token.short) \(words(event.fate, event.replaced))"
        case (.device, .request(let request)): screen(request)
        case (.device, .delivery(let event)): screen(event)
        case (.device, .connection): nil
        }
    }

    /// What happened to a push. The record's words `replaced` and `overwritten` suggest that this push was lost. In
    /// fact, this push took the place of an earlier push.
    private func words(_ fate: String, _ replaced: String?) -> String {
        let earlier = replaced ?? "an earlier push"
        return switch fate {
        case "replaced": "shown in place of \(earlier)"
        case "overwritten": "stored in place of \(earlier)"
        default: fate
        }
    }

    private func clock(_ time: Int64) -> String { String(TimeText.of(time).dropFirst(11).prefix(12)) }
}

// MARK: - One line for each record

extension APNsDisplay {
    private func line(_ request: RecordedRequest) -> String {
        let parts = [
            clock(request.time), "\(request.connection)/\(request.stream)", verdict(request),
            request.token?.short ?? "no token", request.topic?.printable ?? "",
            request.header("apns-push-type")?.printable ?? "", request.notice?.summary ?? "",
            request.isRepeat ? "repeat" : "",
            request.fate == "shown" ? "" : request.fate.map { words($0, request.replaced) } ?? "",
        ]
        let warnings = request.warnings.map { "\n    " + painter.cyan("warning: " + $0.printable) }
        return parts.filter { !$0.isEmpty }.joined(separator: "  ") + warnings.joined()
    }

    private func verdict(_ request: RecordedRequest) -> String {
        guard let status = request.status else { return painter.red(request.ending ?? "no answer") }
        return status == 200 ? painter.green("200") : painter.red("\(status) \(request.reason?.printable ?? "")")
    }

    private func line(_ event: ConnectionEvent) -> String {
        "\(clock(event.time)) connection \(event.connection): \(event.step.text)"
    }
}

// MARK: - The screen of a device

extension APNsDisplay {
    private func screen(_ request: RecordedRequest) -> String? {
        guard let notice = request.notice, let fate = request.fate else {
            return "\(verdict(request))  \(request.token?.short ?? "no token")"
        }
        let app = request.topic ?? ""
        return screen(notice, request.token ?? "", app, fate, request.replaced)
    }

    private func screen(_ event: DeliveryEvent) -> String {
        screen(event.notice, event.token, event.bundle, event.fate, event.replaced)
    }

    private func screen(
        _ notice: Notice, _ token: String, _ app: String, _ fate: String, _ replaced: String?
    ) -> String {
        let head = painter.dim("\(token.short)  \(app.printable)")
        guard ["shown", "replaced"].contains(fate) else {
            return "\(head)\n    (\(words(fate, replaced)): the device was offline)"
        }
        var lines = notice.isBackground ? ["(background)"] : []
        lines += [notice.title, notice.subtitle].compactMap(\.self).map { painter.bold($0.printable) }
        lines += [notice.body?.printable, notice.extras].compactMap(\.self)
        if let replaced { lines.append(painter.dim("in place of \(replaced)")) }
        return ([head] + lines.map { "    " + $0 }).joined(separator: "\n")
    }
}

extension Notice {
    fileprivate var summary: String {
        if isBackground { return "(background)" }
        return [title, subtitle, body, extras].compactMap(\.self).map(\.printable).joined(separator: " · ")
    }

    fileprivate var extras: String? {
        let parts = [badge.map { "badge \($0)" }, sound.map { "sound \($0.printable)" }].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}

extension ConnectionEvent.Step {
    fileprivate var text: String {
        switch self {
        case .open(let remote, let topic):
            "open from \(remote)" + (topic.map { ", certificate of \($0.printable)" } ?? "")
        case .settings(let streams): streams == 1 ? "allows one stream" : "allows \(streams) streams"
        case .goAway(let last, let code, let debug): "GOAWAY \(code), last stream \(last) \(debug.printable)"
        case .refused(let stream): "stream \(stream) refused: too many streams"
        case .reset(let stream, let code): "the client reset stream \(stream), \(code)"
        case .close(let requests): "closed after \(requests) requests"
        case .failed(let reason): "failed: \(reason.printable)"
        }
    }
}

extension String {
    /// The first eight digits of a device token, then an ellipsis. A token of up to nine digits stays whole.
    fileprivate var short: String { count > 9 ? prefix(8) + "…" : self }
}

extension Environment: ExpressibleByArgument {}
