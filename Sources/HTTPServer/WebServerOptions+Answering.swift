import HTTPTypes
import HummingbirdCore
import NIOCore

extension WebServerOptions {
    /// Reads whole requests, and refuses a request whose target or body is too long.
    func answering(with responder: @escaping WebServer.Responder) -> HTTPChannelHandler.Responder {
        { request, writer, channel in
            let answer: WebResponse
            do throws(ReadFailure) {
                let body = try await body(of: request)
                let id = requestIDs.flatMap { request.headers[$0.header] }
                answer = await responder(WebRequest(request, body: body, id: id, channel))
            } catch {
                guard case .refused(let refusal) = error else { throw error }
                answer = refuse(refusal, request.headers)
            }
            try await writer.write(response: answer.head, body: ResponseBody(byteBuffer: answer.body))
        }
    }

    private enum ReadFailure: Error {
        case refused(WebServerRefusal)
        case clientIsGone
    }

    private func body(of request: Request) async throws(ReadFailure) -> [UInt8] {
        guard (request.head.path ?? "").utf8.count <= limits.targetBytesMax else { throw .refused(.targetTooLong) }
        let bytesMax = bodyBytesMax(toPath: request.uri.path)
        let length = request.headers[.contentLength].flatMap { Int($0) } ?? 0
        guard length <= bytesMax else { throw .refused(.bodyTooLong) }
        do {
            return Array(try await request.body.collect(upTo: bytesMax).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw .refused(.bodyTooLong)
        } catch { throw .clientIsGone }
    }
}
