# frozen_string_literal: true

# Thin's own TCP backend with a longer queue: EventMachine's queue of 100 drops bursts of
# connections.
class Backend < Thin::Backends::TcpServer
  def initialize(host, port, _options)
    super(host, port)
  end

  def connect
    listener = TCPServer.new(host, port)
    listener.listen(1024)
    @signature = EventMachine.attach_server(listener, Thin::Connection, &method(:initialize_connection))
  end
end
