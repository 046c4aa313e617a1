import HTTPTypes
import HummingbirdCore
import NIOCore

extension WebServerOptions {
    /// Reads whole requests. Refuses a request whose target or body is too long, or whose body or answer does not fit
    /// beside the bodies or answers that the server holds already.
    func answering(with responder: @escaping WebServer.Responder) -> HTTPChannelHandler.Responder {
        let (bodies, answers) = (HeldBodies.ofRequests(limits), HeldBodies.ofAnswers(limits))
        return { request, writer, channel in
            var answer: WebResponse
            do throws(Failure) {
                answer = try await self.answer(to: request, channel, bodies, answers, responder)
            } catch {
                guard case .refused(let refusal) = error else { throw error }
                answer = refuse(refusal, request.headers)
                if let seconds = refusal.retryAfterSeconds { answer.headers[.retryAfter] = "\(seconds)" }
            }
            try await writer.write(response: answer.head, body: ResponseBody(byteBuffer: answer.body))
        }
    }

    private enum Failure: Error {
        case refused(WebServerRefusal)
        case clientIsGone
    }

    private func answer(
        to request: Request, _ channel: any Channel, _ bodies: HeldBodies, _ answers: HeldBodies,
        _ responder: WebServer.Responder
    ) async throws(Failure) -> WebResponse {
        let network = network(of: request.headers, channel)
        var (reservation, room) = (bodies.reservation(for: network), answers.reservation(for: network))
        defer { reservation.end() }
        let body = try await body(of: request, &reservation)
        let id = requestIDs.flatMap { request.headers[$0.header] }
        let whole = WebRequest(request, body: body, id: id, client: client(of: request.headers, channel), channel)
        let answer = await responder(whole)
        guard answer.body.readableBytes > WebServerLimits.smallAnswerBytesMax else { return answer }
        guard room.add(answer.body.readableBytes) else { throw .refused(.tooManyAnswers) }
        whole.whenAnswered { [room] in
            var room = room
            room.end()
        }
        return answer
    }

    private func body(
        of request: Request, _ reservation: inout BodyReservation
    ) async throws(Failure) -> [UInt8] {
        guard (request.head.path ?? "").utf8.count <= limits.targetBytesMax else { throw .refused(.targetTooLong) }
        let pathBytesMax = bodyBytesMax(request.uri.path)
        let bytesMax = pathBytesMax ?? limits.bodyBytesMax
        let length = request.headers[.contentLength].map { Int($0) ?? .max } ?? 0
        guard length <= bytesMax else { throw .refused(.bodyTooLong) }
        guard needsBody(WebRequestHead(request)) else { return [] }
        if bytesMax > limits.bodyBytesMax, !reservation.claim(request.uri.path) { throw .refused(.pathInUse) }
        guard reservation.hasRoom(for: length) else { throw .refused(.tooManyBodies) }
        return try await Self.bytes(of: request.body, atMost: bytesMax, &reservation)
    }

    private static func bytes(
        of body: RequestBody, atMost bytesMax: Int, _ reservation: inout BodyReservation
    ) async throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            for try await part in body {
                guard part.readableBytes <= bytesMax - bytes.count else { throw Failure.refused(.bodyTooLong) }
                guard reservation.add(part.readableBytes) else { throw Failure.refused(.tooManyBodies) }
                bytes.append(contentsOf: part.readableBytesView)
            }
        } catch let failure as Failure { throw failure } catch { throw .clientIsGone }
        return bytes
    }
}
