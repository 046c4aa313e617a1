import CCurl

/// The requests in flight and the connections that they share. Only one thread may use them.
final class HTTPTransfers {
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// The longest sleep. libcurl's sockets and timers, and messages in the inbox, end it earlier.
    private static let sleepMilliseconds: CInt = 60_000

    private let multi: UnsafeMutableRawPointer
    private let connections: Int
    private let rules: HTTPRules
    private var waiting: [HTTPOrder] = []
    private var inFlight: [UnsafeMutableRawPointer: HTTPTransfer] = [:]

    /// Nil if libcurl cannot start, for example without memory.
    init?(connections: Int, _ rules: HTTPRules) {
        guard Self.isReady, let multi = curl_multi_init() else { return nil }
        self.multi = multi
        self.connections = connections
        self.rules = rules
        curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, connections)
    }

    deinit { curl_multi_cleanup(multi) }

    /// Carries out the orders in the inbox until the inbox is closed. Then ends all unfinished orders as cancelled.
    func run(_ inbox: HTTPInbox) {
        var messages = inbox.takeMessages()
        while !messages.isClosed {
            waiting += messages.orders
            for id in messages.withdrawn { withdraw(id) }
            var count: CInt = 0
            curl_multi_perform(multi, &count)
            endFinished()
            startNextRequests()
            sleep(wokenBy: inbox.wakeDescriptor)
            messages = inbox.takeMessages()
        }
        for transfer in inFlight.values { end(transfer, .failure(.cancelled)) }
        for order in waiting + messages.orders { order.end.resume(returning: .failure(.cancelled)) }
    }

    private func sleep(wokenBy wakeDescriptor: CInt) {
        var wake = curl_waitfd(fd: wakeDescriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        curl_multi_poll(multi, &wake, 1, Self.sleepMilliseconds, nil)
    }

    /// Starts the next requests, as many as there is room for. libcurl sets a timer for each of them, and this timer
    /// ends the next sleep at once.
    private func startNextRequests() {
        let count = min(waiting.count, connections - inFlight.count)
        for order in waiting.prefix(count) {
            guard let transfer = HTTPTransfer(order, rules), curl_multi_add_handle(multi, transfer.easy) == CURLM_OK
            else {
                order.end.resume(returning: .failure(.unreachable("libcurl could not start the request")))
                continue
            }
            inFlight[transfer.easy] = transfer
        }
        waiting.removeFirst(count)
    }

    private func endFinished() {
        var left: CInt = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let transfer = inFlight[easy]
            else { continue }
            end(transfer, transfer.result(message.pointee.data.result))
        }
    }

    private func withdraw(_ id: UInt64) {
        if let index = waiting.firstIndex(where: { $0.id == id }) {
            waiting.remove(at: index).end.resume(returning: .failure(.cancelled))
        } else if let transfer = inFlight.values.first(where: { $0.order.id == id }) {
            end(transfer, .failure(.cancelled))
        }
    }

    private func end(_ transfer: HTTPTransfer, _ result: Result<HTTPAnswer, HTTPFailure>) {
        inFlight[transfer.easy] = nil
        curl_multi_remove_handle(multi, transfer.easy)
        transfer.order.end.resume(returning: result)
    }
}
